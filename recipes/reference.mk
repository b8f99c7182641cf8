# Distil SmolLM2-135M with 20 of its 30 blocks on 164k tokens of English, in the
# setting of a reference in PyTorch (scripts/oracle/distil.py), so that both can
# be compared at equal tokens.  The text is LibreOffice's help, Debian's manuals
# and fortunes, joined and cut into rows of 256 tokens, four a step in random
# order.  Models are evaluated on the first 40 rows of GIMP's help, on every
# token but the first of a row.
#
#    make -f recipes/reference.mk [VARIABLE=value ...] rival row
#
# recipes/distil.mk says what the steps are and how a run goes on.  `row` puts
# the figures of a run into recipes/results under the name RUN.  PEER=FILES, the
# output of distil.py (without a seed, or with SEED if that is not 1), adds the
# figures of PyTorch.  distil.py's DIR, TEXT and HELD_OUT_TEXT are teacher
# (which `convert` makes), train.txt and text/held-out/en.txt in the run's
# folder full.

TEACHER    ?= smollm2-135m# a folder, a .gguf file, or a name of scripts/get-model: this is a Q4_1 file of the Instruct model
# The reference keeps these blocks, by influence; KEEP= searches for others.
KEEP       ?= 0 1 2 4 5 6 7 8 10 11 18 19 20 21 22 23 24 27 28 29
BLOCKS     ?= 20# blocks that the student keeps, where they are searched for
BATCHES    ?= $(if $(SMOKE),8,160)# steps of distillation
LR         ?= 3e-4# peak learning rate, cosine to 0
TEMPERATURE ?= 3# temperature of KL
CALIB_ROWS ?= $(if $(SMOKE),4,32)# rows the pruner judges by
CONTEXT    ?= 256# tokens of an evaluation window
PROMPTS    ?= 'en:Everyone has the right to' 'en:The sky is blue because'
WORK       ?= run/reference# everything is kept here
TOKENIZE   ?= --split blank# options of clean and tokenize
PACK       ?= none# how documents fill rows; with JOIN documents are rows
ANSWERS    ?= 0# per cent of the tokens that the teacher writes; PyTorch reads text alone
JOIN       ?= 1# rows are cut from all text joined
JUDGED_BYTES ?= 60000# bytes of joined text to judge on
JUDGED_ROWS ?= 40# rows of it to judge on, at most
STUDENT    ?= --keep 1# further options of student
PEER       ?=# output of scripts/oracle/distil.py

# Variables of the text, files to fetch for it, files that hold it, and folders
# that are never trained on.
SOURCE      =
FETCHED     = $(packages)train.done $(packages)held-out.done
TRAIN_TEXT  = $(OUT)/text/train/en.txt
JUDGED_TEXT = $(OUT)/text/held-out/en.txt
NEVER       = $(JUDGED_TEXT)

include $(dir $(lastword $(MAKEFILE_LIST)))distil.mk

$(packages)train.done: debs = libreoffice-help-en-us debian-handbook \
    debian-reference-en debian-policy developers-reference fortunes
$(packages)held-out.done: debs = gimp-help-en

$(OUT)/text/%/en.txt: $(packages)%.done $(TOP)scripts/doc-text | settings
	@mkdir -p $(@D)
	$(TOP)scripts/doc-text $(basename $<) >$@.new
	@mv $@.new $@

# The batches of distillation, to train PyTorch on the same ones.
.PHONY: order
order: $(OUT)/order.stream
$(OUT)/order.stream: $(OUT)/train.done | programs
	$(STREAM) -q -B $(B) --batches $(BATCHES) -o $@

ifneq ($(PEER),)
row: peer
.PHONY: peer
peer:
	@$(TOP)scripts/results peer $(RESULTS) $(TABLE) pytorch$(other:%=-seed-%) \
	    "$(distil)" $(PEER)
other  = $(filter-out 1,$(SEED))
distil = $(if $(COMPUTE),AUTOCAST=1 )python3 scripts/oracle/distil.py $(strip $(LR)) \
         kd $(strip $(BATCHES)) 10 DIR TEXT HELD_OUT_TEXT$(other:%= %)
endif
