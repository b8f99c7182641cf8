# From 20 to 200 examples of a task to a small model that does it.
#
#    make -f recipes/task.mk EXAMPLES=FILE.jsonl TEACHER=MODEL STUDENT=MODEL \
#        [SMOKE=1] [VARIABLE=value ...] [target]
#
# A line of the examples is {"prompt": "...", "completion": "..."} or has
# messages of a user and an assistant.  Some of them, or those of JUDGED, judge
# and are shown to no model.  The teacher is tried first: it sees SHOTS of the
# other examples and answers the judged ones.  If it can do the task, it writes
# COUNT more questions like the examples, and BEST_OF answers to each, of which
# the program REWARD keeps one or none; without REWARD scripts/agree keeps the
# answer that most of them give.  Questions that share words with judged ones
# are dropped.  The student learns the examples and the answers, by their text
# and by the teacher's most probable tokens, also from a teacher with another
# tokenizer.  It is judged beside the teacher and beside a copy of itself that
# learnt the examples alone.
#
# As with recipes/distil.mk, a run that was stopped goes on when the same
# command is given again, and files made under other settings are refused by
# name.  `make -f recipes/task.mk help` lists targets and variables.  Two tasks
# are in recipes/tasks: dates and orders.  scripts/task needs python3.

include $(dir $(lastword $(MAKEFILE_LIST)))steps.mk

.SECONDARY:
.PHONY: able ask answer learn distil alone judge speed report clean help settings

TEACHER    ?=# a folder, a .gguf file, or a name of scripts/get-model
STUDENT    ?=# a smaller model, such as smollm2-135m
EXAMPLES   ?=# the examples, in JSONL
JUDGED     ?=# examples to judge by; none: JUDGED_SHARE of EXAMPLES
JUDGED_SHARE ?= 30# per cent of EXAMPLES to judge by, without JUDGED
WORK       ?= run/$(basename $(notdir $(EXAMPLES)))# everything is kept here
SYSTEM     ?=# file with what the system says before each question: the task
REWARD     ?=# reward program that keeps answers, and judges them without JUDGE
JUDGE      ?= $(REWARD)# program that judges; none: the answer, spaces apart
CHAT       ?= 1# empty: plain text, for models without a chat template
SHOTS      ?= $(if $(SMOKE),2,10)# examples that the teacher sees before a question
LEAST      ?= $(if $(SMOKE),0,50)# per cent of the judged ones that the teacher must do
COUNT      ?= $(if $(SMOKE),8,400)# questions that the teacher is asked to write
ASK        ?= --temperature 1 --top-p 0.95# further options of generate run --ask
BEST_OF    ?= $(if $(SMOKE),2,4)# answers to each question
ANSWER     ?= --temperature 0.7# further options of generate run for answers
NEW        ?= $(if $(SMOKE),16,64)# tokens of a question or an answer at most
CLEAN      ?= --dedup exact# further options of clean for questions
SAYS       ?= --top 64# options of teacher that say what it sends; none: no teacher
EPOCHS     ?= $(if $(SMOKE),1,3)# times that the student reads examples and answers
ALONE_EPOCHS ?= $(if $(SMOKE),1,10)# times that the copy reads the examples
T          ?= 256# tokens a row
B          ?= $(if $(SMOKE),2,4)# rows a batch, one batch a step
LR         ?= 1e-4# peak learning rate, cosine to 0
TRAIN      ?=# further options of student, such as --recompute
SAVE       ?= 20# steps from one checkpoint to the next
DTYPE      ?= q8_0# type of the student's GGUF, see convert(1)
BENCH      ?= $(if $(SMOKE),2,20)# number of prompts that measure the speed
AT_ONCE    ?= 64# texts written at a time
SEED       ?= 1# seed of the split, the questions, the answers and the order
COMPUTE    ?=# bf16: products of teacher and student in bfloat16
THREADS    ?= 0# threads of every program; 0: all processors
BUILD      ?= $(TOP)build# folder of the programs

override TEACHER := $(patsubst %/,%,$(strip $(TEACHER)))
override STUDENT := $(patsubst %/,%,$(strip $(STUDENT)))
EXAMPLES := $(strip $(EXAMPLES))
JUDGED   := $(strip $(JUDGED))
WORK     := $(strip $(WORK))
BUILD    := $(strip $(BUILD))
$(foreach v,WORK TEACHER STUDENT EXAMPLES JUDGED SYSTEM BUILD,$(if $(word 2,\
    $($v)),$(error $v=$(strip $($v)): a path with spaces; name a link without)))
ifeq ($(filter help,$(MAKECMDGOALS)),)
$(foreach v,EXAMPLES TEACHER STUDENT,$(if $($v),,$(error $v= is missing; `make \
    -f $(RECIPE) help` lists all variables)))
$(foreach v,EXAMPLES JUDGED SYSTEM,$(foreach f,$($v),$(if $(wildcard $f),,\
    $(error $v=$f: there is no such file))))
endif

OUT  := $(WORK)/$(if $(SMOKE),smoke,full)
BIN  := $(BUILD)/bin
TASK := $(TOP)scripts/task
chat := $(if $(strip $(CHAT)),--chat)
compute = $(if $(COMPUTE),--compute $(COMPUTE))

# The path of a model, which may have to be fetched; and its file whose time make
# compares.
model = $(if $(or $(findstring /,$(1)),$(filter %.gguf,$(1)),$(wildcard \
        $(1))),$(1),$(WORK)/$(1).gguf)
made  = $(1)$(if $(filter %.gguf,$(1)),,/config.json)
teacher := $(call model,$(TEACHER))
student := $(call model,$(STUDENT))

## all: every step (default)
all: report
	@printf '\nthe model: %s\nserve it:  %s\n' $(OUT)/student.gguf \
	    '$(BIN)/serve -m $(OUT)/student.gguf'

$(WORK)/%.gguf:
	$(TOP)scripts/get-model $* $(WORK)
$(filter-out $(WORK)/%,$(sort $(call made,$(teacher)) $(call made,$(student)))):
	@echo '$@: there is no such model' >&2; exit 1

# The variables that all files but the judged ones depend on.
made_by = TEACHER STUDENT EXAMPLES JUDGED $(if $(JUDGED),,JUDGED_SHARE) SYSTEM \
          REWARD CHAT SHOTS COUNT ASK BEST_OF ANSWER NEW CLEAN \
          SAYS EPOCHS ALONE_EPOCHS T B LR TRAIN SEED COMPUTE
settings:
	@mkdir -p $(OUT)
	$(call same,$(OUT)/settings,$(made_by),$(OUT))
	@if [ -e $(OUT)/judged.jsonl ]; then \
	    new=$$($(call newer,$(EXAMPLES) $(JUDGED) $(SYSTEM),$(OUT)/judged.jsonl)); \
	    if [ -n "$$new" ]; then \
	        echo "$(OUT) was made before $$new was changed:" \
	            'remove $(OUT), or choose another WORK' >&2; exit 1; fi; fi
	@[ -e $(OUT)/settings ] || printf '%s\n' $(call lines,,$(made_by)) \
	    >$(OUT)/settings

# These variables may be changed in a later run, which makes the files that depend
# on them again.
$(OUT)/judge.asked: asked = JUDGE
$(OUT)/dtype.asked: asked = DTYPE
$(OUT)/speed.asked: asked = BENCH DTYPE
$(OUT)/%.asked: settings
	@printf '%s\n' $(call lines,,$(asked)) >$@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

$(OUT)/judged.jsonl: $(EXAMPLES) $(JUDGED) $(SYSTEM) | settings
	@$(TASK) split $(chat) $(if $(JUDGED),--judged $(JUDGED),--share $(JUDGED_SHARE)) \
	    $(if $(SYSTEM),--system $(SYSTEM)) --seed $(SEED) --least $(SHOTS) \
	    $(EXAMPLES) $(OUT)

# A file is there only if it is whole.
into = >$@.new && mv $@.new $@

# $(call write,MODEL,OPTIONS): what generate run writes of the prompts in $<;
# a run that was stopped goes on.
write = $(BIN)/generate run -m $(1) -j $(THREADS) $(compute) --prompts $< \
    -n $(NEW) --at-once $(AT_ONCE) $(if $(chat),,--stop '\n\n') $(2) \
    --resume $@.part && mv $@.part $@ && rm -f $@.part.options.json

$(OUT)/judged-teacher.jsonl: shots = $(SHOTS)
$(OUT)/judged-student.jsonl: shots = 0
$(OUT)/judged-%.jsonl: $(OUT)/judged.jsonl
	@$(TASK) ask $(chat) --shots $(shots) --seed $(SEED) $(OUT) $< $(into)

$(OUT)/teacher.texts.jsonl: $(OUT)/judged-teacher.jsonl \
    $(call made,$(teacher)) | programs
	$(call write,$(teacher))
$(OUT)/%.texts.jsonl: $(OUT)/judged-student.jsonl $(OUT)/%.gguf | programs
	@rm -f $@.part
	$(call write,$(OUT)/$*.gguf)
$(OUT)/%.tsv: $(OUT)/%.texts.jsonl $(OUT)/judge.asked
	@$(TASK) judge $(if $(strip $(JUDGE)),--by '$(subst ','\'',$(JUDGE))') \
	    $< $(into)

## able: can the teacher do the task?
able: $(OUT)/teacher.tsv
	@$(TASK) able $(LEAST) $<

## ask: questions like the examples, that the teacher writes
ask: $(OUT)/questions.jsonl

$(OUT)/questions.jsonl: $(OUT)/judged.jsonl | able programs
	$(BIN)/generate run --ask --like $(OUT)/like.jsonl -m $(teacher) -j $(THREADS) $(compute) \
	    --count $(COUNT) -n $(NEW) --at-once $(AT_ONCE) -s $(SEED) $(ASK) \
	    --resume $@.part && mv $@.part $@ && rm -f $@.part.options.json
$(OUT)/asked.jsonl: $(OUT)/questions.jsonl
	$(BIN)/clean -j $(THREADS) $(CLEAN) \
	    --exclude $(OUT)/judged.txt.jsonl -o $@.clean $<
	@$(TASK) ask $(chat) --shots $(SHOTS) --seed $(SEED) $(OUT) $@.clean $(into)
	@rm $@.clean

## answer: answers of the teacher, those that REWARD keeps
answer: $(OUT)/answers.jsonl

reward = $(or $(strip $(REWARD)),$(TOP)scripts/agree)
$(OUT)/answers.jsonl: $(OUT)/asked.jsonl | programs
	$(call write,$(teacher),--best-of $(BEST_OF) -s $(SEED) $(ANSWER) \
	    --reward '$(subst ','\'',$(reward))')

## learn: what the student learns, and what its copy learns, as tokens
learn: $(OUT)/learn.done $(OUT)/alone.done

$(OUT)/learn.jsonl: $(OUT)/answers.jsonl
	@$(TASK) learn $(chat) $(OUT) $< $(into)
$(OUT)/alone.jsonl: $(OUT)/judged.jsonl
	@$(TASK) learn $(chat) $(OUT) $(into)
# A shard directory exists before it is complete, so it has a stamp.
$(OUT)/%.done: $(OUT)/%.jsonl $(call made,$(student)) | programs
	$(BIN)/tokenize -t $(student) -j $(THREADS) --chat $< | \
	    $(BIN)/shard write -f -o $(OUT)/$*.tokens
	@touch $@

# What the teacher says of each token is stored, and read EPOCHS times.
said = $(if $(strip $(SAYS)),targets,learn)
# Targets older than the tokens they belong to are made anew; a run that was
# stopped goes on, or needs the stamp alone.
tokens = $(OUT)/targets.tokens
$(OUT)/targets.done: $(OUT)/learn.done | programs
	@test $(tokens)/manifest.json -nt $< || rm -rf $(tokens)
	$(BIN)/shard list -q $(tokens) >/dev/null 2>&1 || \
	    $(BIN)/stream -T $(T) -B $(B) -s $(SEED) --resume $(tokens) \
	        $(OUT)/learn.tokens | \
	    $(BIN)/teacher -m $(teacher) $(SAYS) --student $(student) $(if \
	    $(findstring --top,$(SAYS)),--student-tokenizer $(student)) \
	    -j $(THREADS) $(compute) | \
	    $(BIN)/shard write -o $(tokens)
	@touch $@

## distil: the student
distil: $(OUT)/student/config.json

# config.json is written last; with --resume a run goes on at its last
# checkpoint.
trained = mkdir -p $(@D) && $(BIN)/stream -T $(T) -B $(B) -s $(SEED) --shuffle \
    --epochs $(2) --resume $(@D) $(OUT)/$(1).tokens | \
    $(BIN)/student -m $(student) --lr $(LR) --save $(SAVE) --keep 1 --resume \
    -j $(THREADS) $(compute) $(TRAIN) $(3) -o $(@D)
$(OUT)/student/config.json: $(OUT)/$(said).done | programs
	$(call trained,$(said),$(EPOCHS),--taught-by $(teacher))

## alone: its copy that learns the examples alone
alone: $(OUT)/alone/config.json

$(OUT)/alone/config.json: $(OUT)/alone.done | programs
	$(call trained,alone,$(ALONE_EPOCHS))

$(OUT)/%.gguf: $(OUT)/%/config.json $(OUT)/dtype.asked | programs
	$(BIN)/convert -q --dtype $(DTYPE) $(OUT)/$* $@

## judge: the teacher, the student and its copy, by examples never shown
judge: $(OUT)/teacher.tsv $(OUT)/student.tsv $(OUT)/alone.tsv

## speed: of the teacher and the student, at equal lengths
speed: $(OUT)/speed.tsv

$(OUT)/speed.tsv: $(OUT)/student.gguf $(OUT)/speed.asked | programs
	$(BIN)/generate bench -m $(teacher) -m $(OUT)/student.gguf -j $(THREADS) \
	    --count $(BENCH) --prompt-length 64 -n 32 --format tsv $(into)

## report: shares of right answers, with intervals, speed and memory
report: $(OUT)/report.txt
	@cat $<

$(OUT)/report.txt: $(OUT)/teacher.tsv $(OUT)/student.tsv $(OUT)/alone.tsv \
    $(OUT)/speed.tsv
	@$(TASK) table --speed $(OUT)/speed.tsv \
	    teacher,_after_$(SHOTS)_examples=$(OUT)/teacher.tsv \
	    student=$(OUT)/student.tsv \
	    student_by_the_examples_alone=$(OUT)/alone.tsv $(into)

## clean: remove all files made, but not those fetched
clean:
	rm -rf $(WORK)/smoke $(WORK)/full

settable := $(sort $(call settable_in,$(RECIPE)))
help:
	@echo 'make -f $(RECIPE) EXAMPLES=FILE.jsonl TEACHER=MODEL STUDENT=MODEL \'
	@echo '    [SMOKE=1] [VARIABLE=value ...] [target]'
	@echo; sed -n 's/^## \([a-z]*:\)/  \1/p' $(RECIPE); echo
	@echo 'SMOKE=1 is a small size, to see that every step works.'
	@echo 'Variables, and their values now:'
	$(call variables,$(RECIPE))
