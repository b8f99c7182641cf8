# Runs of the other recipes by name, and their rows in recipes/results: what
# matters at equal tokens, which is the run `plain` with one setting changed, for
# each of those of ALL; or those that docs/results.md has tables of.
# OF=reference: of recipes/reference.mk, rows of settings-reference, in place of
# English text and 65,536 ids of Gemma 3 270M.
#
#    make -f recipes/settings.mk [NAMES='...'] [VARIABLE=value ...]
#
# VARIABLEs are those of the recipe, for all runs; MORE are words for its make,
# before those of the name; what a run, or `plain`, says itself goes before both.
# A run that was stopped goes on; one whose row is written is not made again.
# NAME-2 and NAME-3 are a setting by another seed.

include $(dir $(lastword $(MAKEFILE_LIST)))place.mk
NAMES   ?= $(ALL)
WORK    ?= run/settings
MORE    ?=
OF      ?= gemma3# recipe of the settings
TEACHER ?=# teacher of all; none: that of the recipe, fetched to WORK once
RESULTS ?= $(TOP)recipes/results# folder of rows
BUILD   ?= $(TOP)build# where the programs are

.DEFAULT_GOAL = all
.NOTPARALLEL:
.PHONY: all curve help
.PRECIOUS: $(WORK)/%.gguf
OF := $(strip $(OF))

# Of the loss; then targets, the teacher, rates, what is left, how rows are cut,
# what is seen of weights; seeds.
EACH = plain alone no-ce no-squarehead kl-alone squarehead-alone reverse js \
      t1 t1-no-ce t2 top64 t1-top64 sampled calibrated written \
      lr3e-5 lr1e-4 lr3e-4 lr6e-4 lr1e-3 batch2 batch8 \
      influence greedy mixed mixed-unrepaired \
      longer t1-longer joined documents packed \
      staged-q4_0 qat-q4_0 sparsified masked \
      plain-2 plain-3
ALL  = $(filter-out $(not.$(OF)),$(EACH))
# What is plain already, far from it, or cannot be.
not.gemma3    = lr1e-4 lr6e-4 influence packed
not.reference = lr3e-5 lr3e-4 longer t1-longer joined written

# 82k tokens, all else as the recipe has it; the same in more or fewer steps; the
# parameters that plain has left.
plain.gemma3     = LANGUAGES=en MANUALS=1 VOCAB=64K BYTES=220000 BATCHES=82 \
                   BLOCKS=14 CANDIDATES=1 SAVE=41 TEMPERATURE=3 MIX= \
                   JUDGE='--compute bf16' PIECES='--max-doc 600 --split-long'
more.gemma3      = 164
fewer.gemma3     = 41
left.gemma3      = 119974528
# 164k tokens.
more.reference   = 320
fewer.reference  = 80
left.reference   = 99114048

alone            = STUDENT='--keep 1 --ce 1 --kl 0 --squarehead 0'
no-ce            = STUDENT='--keep 1 --ce 0'
no-squarehead    = STUDENT='--keep 1 --squarehead 0'
kl-alone         = STUDENT='--keep 1 --ce 0 --squarehead 0'
squarehead-alone = STUDENT='--keep 1 --ce 0 --kl 0'
reverse          = STUDENT='--keep 1 --kl-direction reverse'
js               = STUDENT='--keep 1 --kl-direction js'
t1               = TEMPERATURE=1
t1-no-ce         = TEMPERATURE=1 STUDENT='--keep 1 --ce 0'
t2               = TEMPERATURE=2
top64            = SAYS='--top 64 --hidden mapped'
t1-top64         = TEMPERATURE=1 $(top64)
sampled          = SAYS='--sample 32 --hidden mapped'
# A teacher trained by CE for half as many steps; 20k of its own tokens.
calibrated       = CALIBRATE=40
written          = WRITTEN=100
lr3e-5           = LR=3e-5
lr1e-4           = LR=1e-4
lr3e-4           = LR=3e-4
lr6e-4           = LR=6e-4
lr1e-3           = LR=1e-3
batch2           = B=2 BATCHES=$(more.$(OF))
batch8           = B=8 BATCHES=$(fewer.$(OF))
influence        = KEEP= CANDIDATES=1
greedy           = KEEP= CANDIDATES=8
# As many parameters, of channels too, with and without repair.
mixed            = KEEP= BLOCKS= PARAMS=$(left.$(OF))
mixed-unrepaired = KEEP= BLOCKS= PARAMS=$(left.$(OF)) PRUNE=--no-repair
# Documents are pages cut to about a row each, not paragraphs.
longer           = PIECES='--split file --max-doc 1000 --split-long'
t1-longer        = TEMPERATURE=1 $(longer)
# Rows cut from all text; attention and positions begin anew with every document.
joined           = JOIN=1 PACK=none
documents        = JOIN= PACK=concat
packed           = JOIN= PACK=best
# Rounded to four bits after training and in it; two of four weights zero before
# it and in it.
staged-q4_0      = ROUND=q4_0
qat-q4_0         = ROUND=q4_0 STUDENT='--keep 1 --qat q4_0'
sparsified       = SPARSIFY='--method magnitude'
masked           = STUDENT='--keep 1 --mask 2:4'

# Of docs/results.md: the recipe of each table has its name,
in.reference = reference reference-seed-2 reference-t1
in.gemma3    = out-4 out-4-seed-2 out-4-greedy out-4-zeros out-6 out-mixed \
               out-mixed-1m out-mixed-paragraphs pytorch pytorch-ce
in.nine      = nine-0 nine-8 nine-24
in.qwen      = qwen qwen-t1 ready
# but for SmolLM2 by blocks that are left, and by steps, with tasks.
in.curve     = blocks-%
SHOWN        = $(in.reference) $(in.gemma3) $(in.nine) $(in.qwen) blocks-27 \
               blocks-24 blocks-20 blocks-16 blocks-20-40 blocks-20-80

reference    = rival
reference-t1 = TEMPERATURE=1
reference-seed-2 = rival SEED=2
# Judged in bfloat16: half as long where the processor has such products.
eu           = LANGUAGES=eu VOCAB=64K BYTES=250000 BATCHES=404 WRITTEN=8 CLOZE=1 \
               JUDGE='--compute bf16'
# Of paragraphs, as the recipe has it; the others are of pages.
out-mixed-paragraphs = $(eu)
paged        = $(eu) PIECES='--split file --max-doc 1000 --split-long --no-eos'
out-4        = $(paged) BLOCKS=14 CANDIDATES=1 rival
out-4-seed-2 = $(paged) BLOCKS=14 CANDIDATES=1 SEED=2
out-4-zeros  = $(paged) BLOCKS=14 SPARSIFY='--share 0.5'
out-6        = $(paged) BLOCKS=12 rival
# Without the blocks that are found by trying.
out-4-greedy = $(paged) BLOCKS=14
# What the recipe's search takes, and 1 M tokens.
out-mixed    = $(paged)
out-mixed-1m = $(paged) BATCHES=1010
# What PyTorch made of the same model by the same text is judged alone.
pytorch      = $(paged) WRITTEN= VOCAB= TEACHER=$(cut)/vocab BATCHES=0 \
               READY=$(WORK)/$*.model
pytorch-ce   = $(pytorch)
# The recipe itself, in nine languages, with so many texts of the teacher in each.
nine-0       = WRITTEN=
nine-8       = WRITTEN=8
nine-24      = WRITTEN=24
qwen         = TEMPERATURE=3 rival BENCH=20
# As the recipe has it; searched and judged in bfloat16.
qwen-t1      = rival BENCH=20 PRUNE='--compute bf16' JUDGE='--compute bf16'
# A model of its own: its hidden states are not those of the teacher, averaged.
ready        = READY=$(WORK)/qwen2.5-coder-0.5b.gguf BENCH=20 SAYS=--final \
    JUDGE='--compute bf16' \
    STUDENT='--keep 1 --moments bf16 --recompute --micro 1 --squarehead 0'
blocks       = KEEP= CANDIDATES=1 CLOZE=1 BLOCKS=$(word 2,$(subst -, ,$*)) \
               $(addprefix BATCHES=,$(word 3,$(subst -, ,$*)))

# The table that the run $(1) is in, and the recipe and the model of that table.
table  = $(or $(strip $(foreach t,reference gemma3 nine qwen curve,$(if $(filter \
         $(in.$t),$(1)),$t))),settings)
recipe = $(or $(recipe.$(table)),$(table))
recipe.nine     = gemma3
recipe.curve    = reference
recipe.settings = $(OF)
model.reference = smollm2-135m
model.gemma3    = gemma3-270m
model.qwen      = qwen2.5-coder-1.5b
gguf   = $(or $(wildcard $(TEACHER)),$(WORK)/$(or \
         $(TEACHER),$(model.$(recipe))).gguf)

known  = $(EACH) $(EACH:%=%-2) $(EACH:%=%-3) $(SHOWN) blocks-%
$(foreach n,$(filter-out $(known),$(NAMES)),\
    $(error $n: no such run; make -f recipes/settings.mk help names them))
all: $(NAMES:%=$(WORK)/%.row)

$(WORK)/%.gguf:
	$(TOP)scripts/get-model $* $(WORK)

.SECONDEXPANSION:
$(WORK)/ready.row: $(WORK)/qwen2.5-coder-0.5b.gguf
$(WORK)/%.row: $$(call gguf,$$*)
	@$(call like,$*)
	@$(call run,$*) row
	@touch $@
# What a setting does not change is made once, for the first run of its table, or
# the first of its seed.
seed  = $(lastword $(subst -, ,$(filter %-2 %-3,$(filter-out lr1e-3,$(1)))))
first.settings = plain$(if $(filter-out plain-%,$(1)),$(addprefix -,$(seed)))
first.gemma3   = out-4
first.nine     = nine-0
first.reference = reference
first = $(first.$(table))
like  = $(if $(filter-out $(1),$(first)),[ ! -d $(WORK)/$(first) ] || \
        $(filter-out rival,$(run)) LIKE=$(WORK)/$(first) like,:)
run  = $(MAKE) --no-print-directory -f $(TOP)recipes/$(recipe).mk \
    WORK=$(WORK)/$(1) TABLE=$(table)$(if $(filter settings,$(table)),$(of)) \
    TEACHER=$(gguf) \
    $(if $(filter settings,$(table)),$(plain.$(OF))) $(MORE) \
    $(if $(filter blocks-%,$(1)),$(blocks),$(or $($(1)),$(setting)))
of   = $(addprefix -,$(filter-out gemma3,$(OF)))
setting = $($(1:-$(seed)=)) $(addprefix SEED=,$(seed))

# The peer: the teacher and the text of out-4, blocks by influence of its own.
cut        = $(WORK)/out-4/full
pytorch.is = kd
pytorch-ce.is = ce
$(WORK)/pytorch.row $(WORK)/pytorch-ce.row: $(WORK)/%.row: $(WORK)/%.model
$(WORK)/%.model: $(WORK)/out-4.row
	AUTOCAST=1 python3 $(TOP)scripts/oracle/distil.py 1e-4 $($*.is) 404 4 $(cut)/vocab \
	    $(cut)/text/train $(cut)/text/held-out/en.txt 0 $@ >$@.txt

curve:
	@$(TOP)scripts/curve -t 96 $(RESULTS)/curve.tsv && \
	    $(BUILD)/bin/report -o $(RESULTS)/curve.svg $(RESULTS)/curve.tsv

help:
	@sed -n '1,/^$$/s/^# *//p' $(TOP)recipes/settings.mk; echo 'NAMES: $(ALL)'; \
	    echo 'of docs/results.md: $(SHOWN)'
