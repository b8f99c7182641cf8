# Questions and answers that the teacher writes, for recipes/distil.mk, which
# includes this file.  Text teaches a student no instructions, so if the teacher
# follows them, ANSWERS per cent of the tokens are answers to its own questions.
#
# A trial tells whether it does: it asks itself TRIAL questions and answers
# them, and half of the answers must end by themselves within LONGEST tokens.  A
# chat template alone tells nothing, because base models have one.  From the
# trial follows how many questions are needed: the tokens to be filled, divided
# by the tokens that whole conversations of the trial have for each question
# asked, and a quarter more, since some will be dropped as duplicates.  A run
# that is made longer later reads the same conversations again.

.PHONY: trial ask answers

ANSWERS    ?= 50# per cent of the tokens that are the teacher's questions and answers, if it follows instructions; 0: text alone
CALIB      ?= both# what the pruner judges by if there are answers: text, answers, both
SYSTEM     ?=# file with what the system says before each question
HARDER     ?= 0# per cent of the questions that the teacher then makes harder
ASK        ?= --temperature 1 --top-p 0.95# further options of generate run --ask
ANSWER     ?= --temperature 0.7# further options of generate run for answers
BEST_OF    ?= 1# answers to each question, of which REWARD keeps one or none
REWARD     ?=# reward program; none: the first answer that ends by itself
LONGEST    ?= $(if $(SMOKE),256,512)# tokens of a question or an answer at most
DISTINCT   ?= --dedup minhash# options of clean for questions
TRIAL      ?= $(if $(SMOKE),2,20)# questions of the trial
QUESTIONS  ?=# questions to ask; none: as many as the tokens need
AT_ONCE    ?= 32# texts that are written at a time
ON_POLICY  ?= 0# steps at the end in which the student answers and the teacher judges each token
ON_POLICY_BY ?= --lr 1e-5 -B 16 -n 256# further options of student on-policy

# ANSWERS and ON_POLICY; nothing if they are 0.
answers   := $(filter-out 0,$(strip $(ANSWERS)))
on_policy := $(filter-out 0,$(strip $(ON_POLICY)))
ifneq ($(filter-out $(if $(answers),$(shell seq 100)),$(answers)),)
$(error ANSWERS=$(ANSWERS): a share in per cent, from 0 to 100)
endif
ifneq ($(filter-out text answers both,$(CALIB)),)
$(error CALIB=$(CALIB): text, answers or both)
endif
ifneq ($(if $(answers),,$(on_policy)),)
$(error ON_POLICY=$(ON_POLICY) takes the questions of ANSWERS, which are 0)
endif
asked_by   = $(if $(answers),SYSTEM HARDER ASK ANSWER BEST_OF REWARD LONGEST \
             DISTINCT TRIAL QUESTIONS)

# yes, in commands that run after the trial, if the teacher follows instructions.
follows    = $(if $(answers),$(shell sed -n 's/^FOLLOWS=yes/yes/p' \
             $(OUT)/answers.settings))
writes     = $(BIN)/generate run -m $(original) -j $(THREADS) $(compute) \
             -n $(LONGEST) --at-once $(AT_ONCE) -s $(SEED)
asks       = $(writes) --ask $(if $(SYSTEM),--system $(SYSTEM)) $(ASK)
# $(call resumed,COMMAND): make the target; a command that was stopped goes on.
resumed    = $(1) --resume $@.part && mv $@.part $@ && rm -f $@.part.options.json
chats      = $(BIN)/tokenize --chat -t $(1) -j $(THREADS) --lang answers

# The files of this makefile that another run links by LIKE.
made_of_answers = trial.questions.jsonl trial.jsonl trial.times trial.said \
    trial.txt answers.settings questions.jsonl harder.jsonl asked.jsonl answers.all.jsonl \
    answers.jsonl answers answers.done weights

## trial: does the teacher follow instructions?
trial: $(OUT)/trial.txt
	@cat $<

# A model that writes no questions, or has no chat template, is no error here.
$(OUT)/trial.jsonl: AT_ONCE = $(TRIAL)
$(OUT)/trial.jsonl: $(original_made) $(SYSTEM) | settings programs
	@date +%s >$(OUT)/trial.times; status=0; \
	$(asks) --count $(TRIAL) >$(OUT)/trial.questions.jsonl \
	    2>$(OUT)/trial.said || status=$$?; cat $(OUT)/trial.said >&2; \
	[ $$status -eq 0 ] || : >$(OUT)/trial.questions.jsonl; \
	[ $$status -eq 0 ] || [ $$status -eq 3 ] || \
	    grep -q 'has no chat template' $(OUT)/trial.said
	@date +%s >>$(OUT)/trial.times
	@[ ! -s $(OUT)/trial.questions.jsonl ] || $(writes) $(ANSWER) \
	    --prompts $(OUT)/trial.questions.jsonl >$@.new
	@date +%s >>$(OUT)/trial.times; touch $@.new; mv $@.new $@
$(OUT)/answers.settings: $(OUT)/trial.jsonl
	@grep '"finish_reason": "eos"' $< >$@.whole || :
	@{ $(if $(QUESTIONS),:,[ ! -s $@.whole ] || $(call chats,$(original)) -q \
	    --ids $@.whole); } | awk -v asked=$$(grep -c '' <$<) -v trial=$(TRIAL) \
	    -v whole=$$(grep -c '' <$@.whole) -v n='$(strip $(QUESTIONS))' \
	    -v need=$$(($(B) * $(T) * $(BATCHES) * $(answers))) \
	    -v short='$(too_short)' ' \
	    { tokens += NF } \
	    END { yes = asked > 0 && 2 * whole >= asked && short == ""; \
	        if (yes && n == "") { \
	            n = int(1.25 * need / 100 / (tokens / asked)) + 1; \
	            if (n < trial) n = trial } \
	        printf "FOLLOWS=%s\nASKED=%d\nWHOLE=%d\nWANTED=%d\n", \
	            yes ? "yes" : "no", asked, whole, yes ? n : 0 }' >$@.new
	@printf '%s\n' $(call lines,,B BATCHES) >>$@.new
	@rm $@.whole; mv $@.new $@

# The seconds of the trial tell those of all questions and answers.
$(OUT)/trial.txt: $(OUT)/answers.settings
	@said=$$(sed -n 's/^generate run: //p' $(OUT)/trial.said | head -n 1); \
	tr '\n' ' ' <$(OUT)/trial.times | cat $< - | awk -F = -v said="$$said" ' \
	    NF > 1 { v[$$1] = $$2; next } \
	    { split($$0, at, " ") } \
	    END { n = v["WANTED"]; each = n / (v["ASKED"] ? v["ASKED"] : 1); \
	        yes = v["FOLLOWS"] == "yes"; \
	        printf "The teacher %s instructions: ", yes ? "follows" : \
	            "does not follow"; \
	        if (v["ASKED"] == 0) print "it writes no questions:\n" said; \
	        else printf "%d of %d answers to its questions end by\n" \
	            "themselves within $(LONGEST) tokens.\n", v["WHOLE"], v["ASKED"]; \
	        if (!yes) print "All tokens are text."; \
	        else printf "$(answers) %% of the tokens are its own answers, to " \
	            "%d questions:\n%.1f hours before the distillation, at the " \
	            "speed of the trial.\n", n, each / 3600 * \
	            ((1 + $(HARDER) / 100) * (at[2] - at[1]) + \
	            $(BEST_OF) * (at[3] - at[2])) }' >$@.new
	@$(if $(on_policy),$(if $(follows),,cat $@.new >&2; echo 'ON_POLICY: \
	    there are no questions for the student to answer' >&2; exit 1))
	@mv $@.new $@

## ask: questions that the teacher asks itself
ask: $(OUT)/asked.jsonl

wanted = $$(sed -n 's/^WANTED=//p' $(OUT)/answers.settings)
harder = $$(($(wanted) * $(HARDER) / 100))
$(OUT)/questions.jsonl: $(OUT)/answers.settings | programs
	$(if $(follows),$(call resumed,$(asks) --count $(wanted)),@: >$@)
$(OUT)/harder.jsonl: $(OUT)/questions.jsonl | programs
	@head -n $(harder) $< >$@.easy
	@if [ -s $@.easy ]; then \
	    $(call resumed,$(writes) $(ASK) --harder --prompts $@.easy); \
	else : >$@; fi && rm $@.easy
# No question shares words with text to judge on, nor has a near duplicate.
$(OUT)/asked.jsonl: $(OUT)/harder.jsonl $(texts) | programs
	@tail -n +$$(($(harder) + 1)) $(OUT)/questions.jsonl | cat $< - >$@.all
	$(if $(follows),$(BIN)/clean -j $(THREADS) $(DISTINCT) $(unseen) -o $@ \
	    $@.all,@: >$@)
	@rm $@.all

## answers: the teacher's answers to them
answers: $(OUT)/answers.jsonl

reward = $(if $(REWARD),--reward '$(subst ','\'',$(REWARD))')
$(OUT)/answers.all.jsonl: $(OUT)/asked.jsonl | programs
	$(if $(follows),$(call resumed,$(writes) $(ANSWER) --best-of $(BEST_OF) \
	    $(reward) --prompts $<),@: >$@)
$(OUT)/answers.jsonl: $(OUT)/answers.all.jsonl | programs
	$(if $(follows),[ ! -s $< ] || $(BIN)/clean -j $(THREADS) $(unseen) \
	    -o $@.new $<,@: >$@.new)
	@$(if $(follows),[ -s $@.new ] || { echo 'no answer of the teacher is' \
	    'left: see above why they were dropped; ANSWERS=0 is text alone' >&2; \
	    exit 1; })
	@mv $@.new $@
$(OUT)/answers.done: $(OUT)/answers.jsonl $(whole_made) | programs
	$(if $(follows),$(call chats,$(whole)) $< | \
	    $(BIN)/shard write -f -o $(OUT)/answers)
	@touch $@

# Shares of the sources, for stream --weights: those of the text as MIX has
# them, and that of the answers.  Those of --unimax depend on the length.
textual = $$(($(B) * $(T) * $(BATCHES) * (100 - $(answers)) / 100 + 1))
$(OUT)/weights: $(OUT)/train.done $(OUT)/answers.done
	@$(if $(follows),$(streamed.text) $(if $(findstring --unimax,$(MIX)),--tokens \
	    $(textual)) -q --dry-run,:) >$@.shares
	@awk -F '\t' -v share=$(answers) 'NR > 1 && $$1 == "answers" { twice = 1 } \
	    NR > 1 { w = w $$1 "=" $$4 * (100 - share) / 100 "," } \
	    END { print w "answers=" share / 100; exit twice }' $@.shares >$@.new || \
	    { echo 'a source of the text has the name answers: rename it' >&2; \
	    exit 1; }
	@rm $@.shares; mv $@.new $@

# stream of text, answers or both
streamed         = $(BIN)/stream -T $(T) -s $(SEED) --pack $(PACK)
streamed.text    = $(streamed) $(MIX) $(OUT)/train
streamed.answers = $(streamed) $(OUT)/answers
streamed.both    = $(streamed) --weights "$$(cat $(OUT)/weights)" $(OUT)/train \
                   $(OUT)/answers
STREAM = $(streamed.$(if $(follows),both,text))
calibrating = $(streamed.$(if $(follows),$(strip $(CALIB)),text))

# Files of distil.mk that need files of this makefile.
ifneq ($(answers),)
$(OUT)/plan.txt: $(OUT)/trial.txt
$(OUT)/vocab.gguf $(OUT)/vocab/config.json: $(OUT)/answers.jsonl
$(OUT)/pruned/config.json: $(OUT)/weights
endif

# After distillation the student answers the questions itself, and learns what
# the teacher would have said at each token.  A longer distillation starts this
# anew.
## near: the student after ON_POLICY steps on its own answers
near: $(OUT)/on-policy/config.json

sized = $(filter --recompute --micro@% --act@% --grad@% --moments@%,$(call \
    each_of,$(STUDENT)))
$(OUT)/on-policy/config.json: $(OUT)/distilled/config.json | programs
	@[ -n "$$(find $(OUT)/on-policy.settings -newer $< 2>/dev/null)" ] || \
	    rm -rf $(@D)
	$(call record,$(OUT)/on-policy.settings,ON_POLICY ON_POLICY_BY)
	@mkdir -p $(@D)
	$(call profile,student) $(BIN)/student on-policy -m $(OUT)/distilled \
	    --score-with $(whole) --steps $(ON_POLICY) --save $(SAVE) --keep 1 \
	    -s $(SEED) -j $(THREADS) $(compute) $(subst @, ,$(sized)) --resume \
	    $(ON_POLICY_BY) -o $(@D) $(OUT)/asked.jsonl
