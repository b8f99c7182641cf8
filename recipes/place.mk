# Where the recipes are, and which variables they know; see recipes/distil.mk.
# Every recipe includes this file first.

# The tree above recipes/, with a slash; empty if make runs in it.
TOP := $(dir $(lastword $(MAKEFILE_LIST)))..
ifeq ($(abspath $(TOP)),$(CURDIR))
TOP :=
else
TOP := $(abspath $(TOP))/
endif

RECIPE := $(firstword $(MAKEFILE_LIST))

# The variables that file $(1) sets by ?=.
settable_in = $(shell sed -n 's/^\([A-Z_0-9]*\) *?=.*/\1/p' $(wildcard $(1)))
# The variables of this recipe and of the makefiles that it reads.
known := SMOKE PIP $(call settable_in,$(RECIPE) $(if $(filter task.mk,$(notdir \
    $(RECIPE))),,$(addprefix $(TOP),recipes/distil.mk recipes/answers.mk \
    recipes/judge.mk Makefile)))
typed := $(foreach v,$(.VARIABLES),$(if $(filter command-line,$(subst \
    $() ,-,$(origin $v))),$v))

# A make started by another make has its variables already checked.
ifeq ($(MAKELEVEL),0)
ifneq ($(notdir $(RECIPE)),judge.mk)
$(foreach v,$(filter MODEL GGUF,$(typed)),$(error $v=$($v): type \
    TEACHER=$($v), which is a folder, a .gguf file, or a name of \
    scripts/get-model))
endif
$(foreach v,$(filter-out $(known),$(typed)),$(error $v=$($v): no such \
    variable$(foreach n,$(shell $(TOP)scripts/nearest $v $(known)),; did \
    you mean $n=$($v)?); `make -f $(RECIPE) help` lists all))
endif

# The variables of problems that were given, and the judges of these problems.
problems_given = $(strip $(foreach v,HUMANEVAL MBPP IFEVAL,$(if $(strip $($v)),$v)))
judges = $(patsubst HUMANEVAL,humaneval,$(patsubst MBPP,mbpp,$(patsubst \
    IFEVAL,ifeval,$(problems_given))))

# The variables that were given, as the message after Ctrl-C prints them.
spoken = $(foreach v,$(typed),$v='$(subst ','\'',$(value $v))')
