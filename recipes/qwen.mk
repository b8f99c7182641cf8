# Distil Qwen2.5-Coder 1.5B, without 37.5 % of the 1.31 billion parameters of
# its blocks and 57 % of its vocabulary, on Python and English; evaluate it on
# Python and English by other authors, with HUMANEVAL=FILE on HumanEval too, and
# with BENCH=20 measure its speed.
#
#    make -f recipes/qwen.mk [SMOKE=1] [VARIABLE=value ...] [target]
#
# recipes/distil.mk says what the steps are and how a run goes on.  plan(1)
# predicts 12.7 GB of memory for the student, besides the teacher's weights: 0.9
# GB, as the vocabulary is cut in the .gguf, whose matrices keep their types.

TEACHER    ?= qwen2.5-coder-1.5b# a folder, a .gguf file, or a name of scripts/get-model: this is a Q4_K_M file of the Instruct model
VOCAB      ?= 64K# ids that the student keeps; with --dtype bf16 the teacher becomes a folder of that type
PARAMS     ?= 1020M# parameters that the student keeps
BATCHES    ?= $(if $(SMOKE),2,293)# steps of distillation
LR         ?= 3e-5# peak learning rate, cosine to 0
WARMUP     ?= $(if $(SMOKE),1,10)# steps of warm-up
CANDIDATES ?= $(if $(SMOKE),1,4)# blocks tried a round; 1: by influence alone
PROMPTS    ?= 'py:def fibonacci(n):' 'en:The sky is blue because'
TOKENIZE   ?=# a file is a document,
PIECES     ?= --max-doc 4000 --split-long# options of clean and tokenize, for text to train on
COMPUTE    ?= bf16# products of teacher and student in bfloat16
STUDENT    ?= --keep 1 --moments bf16 --recompute --micro 1# options of student
FILES      ?= 400# files of code to train on; a tenth as many to judge on

# Variables of the text, files to fetch for it, files that hold it, and folders
# that are never trained on.
SOURCE      = FILES
FETCHED     = $(packages)en.done $(packages)py.done $(packages)held-out-en.done \
              $(packages)held-out-py.done
TRAIN_TEXT  = $(OUT)/text/train/done
JUDGED_TEXT = $(OUT)/text/held-out/done
NEVER       = $(OUT)/text/held-out

include $(dir $(lastword $(MAKEFILE_LIST)))distil.mk

$(packages)en.done: debs = libreoffice-help-en-us debian-handbook \
    debian-reference-en debian-policy developers-reference
$(packages)py.done: debs = python3-django python3-sphinx python3-sympy
$(packages)held-out-en.done: debs = gimp-help-en
$(packages)held-out-py.done: debs = python3-docutils

# Copy at most $(2) files of folder $(1) into folder $(3), taken evenly from
# those with the size of a file that a person wrote and reads.
code = mkdir -p $(3) && find $(1) -type f -name '*.py' -size +1k -size -60k | \
    sort | awk -v most=$(2) '{ f[NR] = $$0 } END { if (most > NR) \
    most = NR; for (i = 0; i < most; i++) print f[1 + int(i * NR / most)] }' | \
    while IFS= read -r f; do n=$$((n + 1)); cp "$$f" $(3)/$$n.txt || exit 1; done

$(TRAIN_TEXT): $(FETCHED) $(TOP)scripts/doc-text | settings
	rm -rf $(OUT)/text && mkdir -p $(OUT)/text/train $(OUT)/text/held-out
	$(TOP)scripts/doc-text $(packages)en >$(OUT)/text/train/en.txt
	$(TOP)scripts/doc-text $(packages)held-out-en | head -c 100000 \
	    >$(OUT)/text/held-out/en.txt
	$(call code,$(packages)py,$(FILES),$(OUT)/text/train/py.files/py)
	$(call code,$(packages)held-out-py,$$(($(FILES) / 10)),\
	    $(OUT)/text/held-out/py.files/py)
	@touch $(JUDGED_TEXT) $@
$(JUDGED_TEXT): $(TRAIN_TEXT) ;
