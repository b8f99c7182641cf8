# Distil any model on text of your own, within a time that you name: what
# `retort distil` runs; see retort-distil(1).
#
#    make -f recipes/own.mk TEACHER=MODEL TEXT='FILE ...' [VARIABLE=value ...] \
#        [target]
#
# recipes/distil.mk says what the steps are and how a run goes on.  Before them
# this recipe tries the teacher and measures steps; from that follow the plan
# and, with MAX_TIME, the number of steps.

TEACHER    ?=# a folder, a .gguf file, or a name of scripts/get-model
RATIO      ?= $(if $(PARAMS)$(READY)$(KEEP)$(BLOCKS),,0.25)# share of the parameters that is removed
MAX_TIME   ?=# seconds that the whole run may take; they tell BATCHES
TOKENS     ?=# tokens of the whole run; they tell BATCHES
T          ?= $(if $(SMOKE),128,512)# tokens a row
B          ?= $(if $(SMOKE),2,4)# rows a batch, one batch a step
BATCHES    ?= $(if $(TOKENS),$(steps),$(if $(MAX_TIME),$(kept),$(or $(begun),$(if \
              $(SMOKE),8,200))))# steps of distillation
LR         ?= $(rate)# peak learning rate, cosine to 0: 3e-4 for teachers under 200 M parameters, 3e-5 for those over 1 G, else 1e-4
SAVE       ?= $(if $(SMOKE),4,25)# steps from one checkpoint to the next
CALIB_ROWS ?= 4# rows on which the pruner scores what it may remove
REPAIR_ROWS ?= $(if $(SMOKE),4,32)# rows on which the pruner repairs layers
CANDIDATES ?= 1# blocks tried a round; 1: by influence alone
STUDENT    ?= --keep 1# further options of student, such as --recompute
TOKENIZE   ?=# options of clean and tokenize
PIECES     ?= $(pieces)# further options of clean and tokenize for text to train on; fewer than 100 files of plain text are cut, to hold some of it out
MEMORY     ?= $(shell awk '/^MemAvailable:/ { printf "%.0f", $$2 * 1024 }' /proc/meminfo)# bytes that the run may take
ROUND      ?= $(round)# type of weights of the .gguf file, in which the student is judged: q5_k_m if the teacher's file has less than 7 bits a parameter, else q8_0
JUDGE      ?= $(compute)# further options of evalppl on text
PRUNE      ?= $(compute)# further options of prune
JUDGED_SHARE ?= $(judged_share)# per cent of the documents of TEXT to judge on, without HELD_OUT_TEXT: 10 of less than 10 MB, else 5

# What distil.mk asks for.
CONVERTED  =
planned_by_own = yes
prompts    = cat $(OUT)/prompts.txt
steps      = $(shell echo $$((($(TOKENS) + $(B) * $(T) - 1) / ($(B) * $(T)))))
# The steps of the run in the folder: without TOKENS and MAX_TIME it stays as
# long as it is.
begun      = $(shell sed -n 's/^BATCHES=//p' $(OUT)/distilled.settings 2>/dev/null)
# What the plan found is kept, so that the same command goes on.
kept       = $(or $(shell sed -n 's/^BATCHES=//p' $(OUT)/length 2>/dev/null),$(begun))
rate       = $(shell awk '$$1 == "teacher.parameters" { n = $$2 } END { \
             print (n < 2e8 ? "3e-4" : (n > 1e9 ? "3e-5" : "1e-4")) }' \
             $(OUT)/measured 2>/dev/null)

# q5_k_m has 5 to 6 bits a weight: student.gguf shall not be larger than the
# teacher's file.
round      = $(shell { wc -c $(original); cat $(OUT)/measured; } 2>/dev/null | awk ' \
             NR == 1 { size = $$1 } \
             $$1 == "teacher.parameters" { few = size > 0 && 8 * size < 7 * $$2 } \
             END { print (few ? "q5_k_m" : "q8_0") }')
# Rewrites messages such as "was made with RATIO=0.25, not RATIO=0.5" in options
# of retort distil, and drops those about variables that no option sets.
in_options = awk '{ s = $$0; n = 0; n += gsub(/TEACHER=/, "-m ", s); \
    n += gsub(/HELD_OUT_TEXT=/, "--held-out ", s); n += gsub(/TEXT=/, "text ", s); \
    n += gsub(/RATIO=/, "--ratio ", s); n += gsub(/PARAMS=/, "--params ", s); \
    n += gsub(/READY=/, "--into ", s); n += gsub(/COMPUTE=/, "--compute ", s); \
    n += gsub(/PRUNE=--compute/, "--compute", s); \
    n += sub(/PRUNE=,/, "--compute f32,", s) + sub(/PRUNE=$$/, "--compute f32", s); \
    if (sub(/no ANSWERS,/, "--answers 0,", s) + gsub(/ANSWERS=0$$/, "--answers 0", s)) n++; \
    if (gsub(/ANSWERS=[0-9]+/, "&%", s)) { n++; gsub(/ANSWERS=/, "--answers ", s) } \
    all[NR] = $$0; if (n) { print s; some = 1 } } \
    END { for (i = 1; i <= NR && !some; i++) print all[i] }'

judged_share := $(shell find -L $(TEXT) -type f -exec cat {} + 2>/dev/null | \
             head -c 10000000 | wc -c | awk '{ print ($$1 < 1e7 ? 10 : 5) }')

# About 100 documents; longer pieces than rows, shorter than books.
pieces    := $(shell find -L $(TEXT) -type f 2>/dev/null | head -n 100 | awk ' \
             /\.(jsonl?|ndjson|gz|zst|xz|bz2|lz4|tar|tgz|zip|wet|warc|xml|x?html?)$$/ { other = 1 } \
             END { exit other || NR == 0 || NR == 100 }' && \
             find -L $(TEXT) -type f -exec cat {} + | wc -c | awk ' \
             { n = int($$1 / 100); \
             n = n < 2000 ? 2000 : n > 16000 ? 16000 : n; \
             print "--max-doc " n " --split-long" }')

include $(dir $(lastword $(MAKEFILE_LIST)))distil.mk

.PHONY: made fetched checked not-shorter

## fetched: the teacher, if it is a name of scripts/get-model
fetched: $(original_made)

# A run becomes longer, never shorter.
settings: $(if $(TOKENS),not-shorter)
not-shorter:
	@[ "$(or $(begun),0)" -le $(steps) ] || { echo "this run has $$(($(begun) \
	    * $(B) * $(T))) tokens, more than --tokens $(TOKENS)" >&2; exit 1; }

## checked: the text, read before the teacher is tried and steps are measured
checked: $(OUT)/text.tsv

# Until the run has begun, settings and text may change: then the text is read
# again, and files that depend on changed settings are made again.
begun_run  := $(wildcard $(OUT)/settings)
begun_text = $(wildcard $(OUT)/train.done)
ifeq ($(begun_run),)
$(OUT)/measured.asked: asked = TEACHER READY B T COMPUTE STUDENT
$(OUT)/measured: $(OUT)/measured.asked
$(OUT)/trial.asked: asked = TEACHER SYSTEM ASK ANSWER LONGEST TRIAL SEED
$(OUT)/trial.jsonl: $(OUT)/trial.asked
$(OUT)/sized.asked: asked = RATIO PARAMS READY ANSWERS CALIB_ROWS REPAIR_ROWS \
    CANDIDATES
$(OUT)/length: $(OUT)/sized.asked
$(OUT)/answers.settings: settings
endif
again      = $(if $(begun_text),,$(if $(filter checked,$(MAKECMDGOALS)),settings))
ifeq ($(begun_text),)
$(OUT)/held-out.jsonl $(OUT)/text.tsv: $(OUT)/text.read
endif
# $(call each_read,OPTIONS,FILES): do all files and folders have words?
each_read = for f in $(2); do $(call cleaned,$(1)) -q --stats $$f >$@.new || exit 1; \
    awk -F '\t' '{ n = $$5 } END { exit !(n > 0) }' $@.new || { \
    echo "$$f: holds no words: leave it out" >&2; exit 1; }; done
$(OUT)/text.read: $(again) | settings programs
	@$(call each_read,$(PIECES),$(TEXT))
	@$(call each_read,$(WHOLE),$(HELD_OUT_TEXT))
	@touch $@.new; mv $@.new $@

# Documents and bytes to train on and to judge on.  A token of text has 3.5
# bytes, as in scripts/distil-plan.
$(OUT)/text.tsv: $(if $(share),$(own)) $(OUT)/judged | settings programs
	@$(clean) --stats $(TEXT) >$@.train 2>$@.said; s=$$?; cat $@.said >&2; exit $$s
	@$(call cleaned,$(WHOLE)) -q --stats $(own) >$@.own
	@awk -F '\t' -v OFS='\t' -v share='$(share)' ' \
	    FNR == 1 { i++ } { docs[i] = $$2; bytes[i] = $$3; dropped[i] = $$6 } \
	    END { if (share != "") dropped[1] -= docs[2]; \
	        print "train", docs[1], bytes[1], dropped[1] >"$@.new"; \
	        print "judge", docs[2], bytes[2] >"$@.new"; \
	        if (bytes[1] / 3.5 >= $(T)) exit; \
	        printf "%d documents of about %d tokens are left to train on, less " \
	            "than a row of $(T) tokens%s: give more text, or other text to " \
	            "judge on (--held-out)\n", docs[1], bytes[1] / 3.5, dropped[1] ? \
	            "; " dropped[1] " share words with text to judge on" : ""; \
	        exit 1 }' $@.train $@.own >&2
	@sed -n 's/^clean: \([0-9]* files* passed over: .*\) (.*/passed	\1/p' $@.said >>$@.new
	@rm $@.train $@.own $@.said; mv $@.new $@

# Memory for B rows, and seconds for one row, whatever BATCHES will be.  Until
# the run has begun, each plan measures steps again that were measured beside
# other programs.
measure = $(BIN)/plan $(1) -q -m $(or $(READY),$(original)) \
    --teacher $(original) -B $(2) -T $(T) -j $(THREADS) \
    --compute $(or $(strip $(COMPUTE)),f32) $(planned)
busy    = $(if $(filter plan,$(MAKECMDGOALS)),$(if $(begun_text),,$(shell \
          awk '$$1 == "time.waited" && $$2 >= 15 { print "settings" }' \
          $(OUT)/measured 2>/dev/null)))
$(OUT)/measured: $(original_made) $(READY) $(busy) | $(OUT)/text.tsv programs
	@mkdir -p $(@D)
	$(call measure,run,$(B)) >$@.all
	$(call measure,measure,1) | grep '^time[.]' >>$@.all
	@mv $@.all $@

# Tokens of the whole conversations of the trial.
$(OUT)/trial.tokens: $(OUT)/trial.jsonl
	@grep '"finish_reason": "eos"' $< >$@.whole || :
	@{ [ ! -s $@.whole ] || $(call chats,$(original)) -q --ids $@.whole; } | \
	    wc -w >$@.new
	@rm $@.whole; mv $@.new $@

# $(call estimate,length or plan)
estimate = $(TOP)scripts/distil-plan $(1) $(OUT) TEACHER='$(TEACHER)' \
    NAME='$(notdir $(WORK))' READY='$(READY)' RATIO='$(RATIO)' \
    PARAMS='$(PARAMS)' T=$(T) B=$(B) BATCHES='$(BATCHES)' LR='$(LR)' \
    MAX_TIME='$(MAX_TIME)' CALIB_ROWS='$(CALIB_ROWS)' \
    REPAIR_ROWS='$(REPAIR_ROWS)' CANDIDATES='$(CANDIDATES)' \
    TRIAL='$(TRIAL)' ANSWERS='$(answers)' COMPUTE='$(COMPUTE)' \
    MEMORY='$(MEMORY)' CHOSEN='$(chosen)' BEGUN='$(begun_run)' \
    FROM='$(subst ',,$(strip $(foreach v,$(settable),$(if $(filter \
    environment,$(origin $v)),$v=$($v)))))'
# chosen: was ANSWERS given?  If not, and answers would leave time for few steps
# (too_short, from scripts/distil-plan), all tokens are text.
chosen    = $(if $(filter file default,$(origin ANSWERS)),,yes)
too_short = $(shell sed -n 's/^SHORT=//p' $(OUT)/length 2>/dev/null)
tried    = $(if $(answers),$(OUT)/trial.jsonl $(OUT)/trial.tokens)
$(OUT)/length.asked: asked = MAX_TIME
$(OUT)/length: $(OUT)/length.asked $(OUT)/measured $(tried)
	$(if $(MAX_TIME),$(call estimate,length) >$@.new || \
	    { [ -e $(OUT)/train.done ] || rm $(OUT)/measured; exit 1; },@: >$@.new)
	@was=$(begun); now=$$(sed -n 's/^BATCHES=//p' $@.new); \
	if [ "$${now:-0}" -gt 0 ] && [ "$${was:-0}" -gt "$$now" ]; then \
	    echo "this run has $$was steps, and that time is enough for $$now:" \
	        'give it as long as before, or longer' >&2; exit 1; fi
	@mv $@.new $@
ifneq ($(answers),)
$(OUT)/answers.settings: | $(OUT)/length
endif

# Memory and disk that are free are looked for at each start.
$(OUT)/plan.txt: $(OUT)/length $(OUT)/text.tsv \
    $(if $(answers),$(OUT)/answers.settings) settings
	@$(call estimate,plan) >$@.new
	@mv $@.new $@

$(OUT)/prompts.txt: $(OUT)/held-out.tokens | programs
	@$(call cleaned,$(WHOLE)) -q $(own) | $(TOP)scripts/first-words 3 >$@.new
	@mv $@.new $@
$(OUT)/samples.txt: | $(OUT)/prompts.txt

# A model in the place where its maker looks for it, and a file of it.
$(WORK)/student.gguf: $(OUT)/$(student).gguf
	@ln -f $< $@ 2>/dev/null || cp $< $@
	@rm -rf $(WORK)/student $(WORK)/report.html
	@ln -s $(notdir $(OUT))/$(student) $(WORK)/student
	@ln -s $(notdir $(OUT))/report.html $(WORK)/report.html

$(OUT)/summary.txt: $(OUT)/report.txt $(OUT)/samples.txt
	@{ printf '\n'; awk -v RS= '/^(model |M param:|difference:)/ { print $$0 "\n" }' \
	        $(OUT)/report.txt; \
	    printf 'Held-out text, continued by teacher and student:\n'; \
	    $(continuations) | grep -v '^  pruned '; } >$@.new
	@mv $@.new $@

## made: every step, without printing results; they are in summary.txt
made: $(OUT)/report.html $(OUT)/summary.txt $(WORK)/student.gguf
