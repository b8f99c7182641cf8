# Measure a model by programs that judge its texts: the share of its functions
# that pass the tests of HumanEval and MBPP, and the share of IFEval's
# instructions that its texts follow.  Decoding is greedy.
#
#    make -f recipes/judge.mk MODEL=MODEL HUMANEVAL=FILE MBPP=FILE IFEVAL=FILE \
#        [target]
#
# The files are those published, in JSONL; one or two of them will do.
# HumanEval: at most 256 new tokens, with the published stop strings (Chen et
# al., arXiv:2107.03374, section 2.3).  MBPP and IFEval: as messages, for a
# model with a chat template; CHAT= for a model without one: MBPP then has the
# prompts of its paper (scripts/mbpp).  Targets: texts (what the model writes),
# result (the default: judges the texts, programs in a namespace without a
# network, by scripts/humaneval, mbpp and ifeval, which need python3).

include $(dir $(lastword $(MAKEFILE_LIST)))place.mk
HUMANEVAL ?= # the problems
MBPP      ?= # the problems
IFEVAL    ?= # the instructions
MODEL     ?= # a directory or a .gguf file
LIMIT     ?= # number of problems, from the first on; empty: all
CHAT      ?= 1# empty: MBPP and IFEval without the chat template
most = $(if $(filter ifeval,$*),1024,$(if $(filter mbpp,$*),512,256))
NEW       ?= $(most)# tokens at most
AT_ONCE   ?= 16# problems
THREADS   ?= 0# 0: all processors
OUT       ?= build/judge/$(basename $(notdir $(patsubst %/,%,$(MODEL))))
BIN       ?= $(TOP)build/bin
SANDBOX   ?= # --no-sandbox where there are no namespaces

STOP = '\nclass' '\ndef' '\n\#' '\nif' '\nprint'
stop = $(if $(filter humaneval,$*),$(STOP),$(if $(CHAT),,$(if $(filter \
    mbpp,$*),'[DONE]')))

.DELETE_ON_ERROR:
.PHONY: result texts FORCE
result: $(judges:%=$(OUT)/%.tsv)
	@for j in $(judges); do sed -n "s/^# /$$j: /p" $(OUT)/$$j.tsv; done

texts: $(judges:%=$(OUT)/%.texts.jsonl)

ifeq ($(problems_given),)
$(error HUMANEVAL=FILE, MBPP=FILE or IFEVAL=FILE says what is judged)
endif
ifeq ($(strip $(MODEL)),)
$(error MODEL=MODEL says who writes)
endif

# Made each time, since LIMIT or CHAT may have changed.
form = $(if $(CHAT),--chat,--prompts)
$(OUT)/humaneval.jsonl: $(HUMANEVAL)
$(OUT)/humaneval.jsonl: prompts = cat $(HUMANEVAL)
$(OUT)/mbpp.jsonl: $(MBPP)
$(OUT)/mbpp.jsonl: prompts = $(TOP)scripts/mbpp $(form) $(MBPP)
$(OUT)/ifeval.jsonl: $(IFEVAL)
$(OUT)/ifeval.jsonl: prompts = $(TOP)scripts/ifeval $(form) $(IFEVAL)
$(judges:%=$(OUT)/%.jsonl): FORCE
	@mkdir -p $(@D)
	@$(prompts) >$@.all
	@$(if $(strip $(LIMIT)),head -n $(LIMIT),cat) $@.all >$@.new && rm $@.all
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi
FORCE:

$(OUT)/%.texts.jsonl: $(OUT)/%.jsonl $(MODEL)
	$(BIN)/generate run -m $(MODEL) -j $(THREADS) --prompts $< \
	    -n $(NEW) --at-once $(AT_ONCE) $(stop:%=--stop %) >$@

$(OUT)/%.tsv: $(OUT)/%.texts.jsonl $(TOP)scripts/% $(TOP)scripts/judge-python
	$(TOP)scripts/$* $(if $(filter ifeval,$*),,$(SANDBOX)) $< >$@
