# What matters at equal tokens: the run of recipes/reference.mk with one setting
# changed, for each of those below, and their rows in one table.
#
#    make -f recipes/settings.mk [NAMES='...'] [VARIABLE=value ...]
#
# VARIABLEs are those of recipes/reference.mk, for all runs; MORE are words for
# its make, before those of the setting.  A run that was stopped goes on; one
# whose row is written is not made again.

NAMES   ?= $(ALL)
WORK    ?= run/settings
RECIPE  ?= recipes/reference.mk
MORE    ?=
GGUF    ?= $(WORK)/smollm2-135m.gguf

.DEFAULT_GOAL = all
.PHONY: all help

# Of the loss; then targets, rates, what is left, how rows are cut; seeds.
ALL = plain alone no-ce no-squarehead kl-alone squarehead-alone reverse js \
      t1 t2 final top64 sampled lr1e-4 lr6e-4 lr1e-3 batch2 batch8 \
      influence greedy mixed mixed-unrepaired documents packed \
      plain-2 plain-3

alone            = STUDENT='--keep 1 --ce 1 --kl 0 --squarehead 0'
no-ce            = STUDENT='--keep 1 --ce 0'
no-squarehead    = STUDENT='--keep 1 --squarehead 0'
kl-alone         = STUDENT='--keep 1 --ce 0 --squarehead 0'
squarehead-alone = STUDENT='--keep 1 --ce 0 --kl 0'
reverse          = STUDENT='--keep 1 --kl-direction reverse'
js               = STUDENT='--keep 1 --kl-direction js'
t1               = STUDENT='--keep 1 --temperature 1'
t2               = STUDENT='--keep 1 --temperature 2'
final            = SAYS=--final
top64            = SAYS='--top 64 --hidden mapped'
sampled          = SAYS='--sample 32 --hidden mapped'
lr1e-4           = LR=1e-4
lr6e-4           = LR=6e-4
lr1e-3           = LR=1e-3
# The same tokens in more or fewer steps.
batch2           = B=2 BATCHES=320
batch8           = B=8 BATCHES=80
influence        = KEEP= CANDIDATES=1
greedy           = KEEP= CANDIDATES=8
# As many parameters, of channels too, with and without repair.
mixed            = KEEP= BLOCKS= PARAMS=99114048
mixed-unrepaired = KEEP= BLOCKS= PARAMS=99114048 PRUNE=--no-repair
# Attention and positions begin anew with every document.
documents        = JOIN= PACK=concat
packed           = JOIN= PACK=best
plain-2          = SEED=2
plain-3          = SEED=3

all: $(NAMES:%=$(WORK)/%.row)

ifeq ($(GGUF),$(WORK)/smollm2-135m.gguf)
$(GGUF):
	scripts/get-model smollm2-135m $(WORK)
endif

$(WORK)/%.row: $(GGUF)
	@$(MAKE) --no-print-directory -f $(RECIPE) WORK=$(WORK)/$* TABLE=settings \
	    GGUF=$(GGUF) $(MORE) $($*) row
	@touch $@

help:
	@sed -n '1,/^$$/s/^# *//p' recipes/settings.mk; echo 'NAMES: $(ALL)'
