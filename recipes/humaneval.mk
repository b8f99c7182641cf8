# HumanEval: a model writes functions, and the share that passes the tests is
# measured.  Decoding is greedy, at most 256 new tokens, with the published stop
# strings (Chen et al., arXiv:2107.03374, section 2.3).
#
#    make -f recipes/humaneval.mk HUMANEVAL=FILE.jsonl MODEL=MODEL [target]
#
# FILE.jsonl is OpenAI's; each line has task_id, prompt, test and entry_point.
# Targets: texts (the functions), result (the default: runs the functions in a
# namespace without a network, by scripts/humaneval; needs python3).

include $(dir $(lastword $(MAKEFILE_LIST)))place.mk
HUMANEVAL ?= # the problems
MODEL     ?= # a directory or a .gguf file
LIMIT     ?= # only so many of the first problems
NEW       ?= 256# tokens at most
AT_ONCE   ?= 16# problems
THREADS   ?= 0# 0: all processors
OUT       ?= build/humaneval/$(basename $(notdir $(patsubst %/,%,$(MODEL))))
BIN       ?= $(TOP)build/bin
SANDBOX   ?= # --no-sandbox where there are no namespaces

STOP = '\nclass' '\ndef' '\n\#' '\nif' '\nprint'

.DELETE_ON_ERROR:
.PHONY: result texts FORCE
result: $(OUT)/result.tsv
	@tail -n 1 $<

texts: $(OUT)/texts.jsonl

ifeq ($(strip $(HUMANEVAL)),)
$(error HUMANEVAL=FILE.jsonl says where the problems are)
endif
ifeq ($(strip $(MODEL)),)
$(error MODEL=MODEL says who writes)
endif

# Made each time, since LIMIT may have changed.
$(OUT)/problems.jsonl: $(HUMANEVAL) FORCE
	@mkdir -p $(@D)
	@$(if $(strip $(LIMIT)),head -n $(LIMIT),cat) $< >$@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi
FORCE:

$(OUT)/texts.jsonl: $(OUT)/problems.jsonl $(MODEL)
	$(BIN)/generate run -m $(MODEL) -j $(THREADS) --prompts $< \
	    -n $(NEW) --at-once $(AT_ONCE) $(STOP:%=--stop %) >$@

$(OUT)/result.tsv: $(OUT)/texts.jsonl $(TOP)scripts/humaneval
	$(TOP)scripts/humaneval $(SANDBOX) $< >$@
