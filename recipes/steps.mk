# What recipes of several steps share: how they begin, keep the settings of
# their files, and stop.  recipes/distil.mk and recipes/task.mk include this
# file first.

include $(dir $(lastword $(MAKEFILE_LIST)))place.mk

.DEFAULT_GOAL = all
.DELETE_ON_ERROR:
.SUFFIXES:
.NOTPARALLEL:
export LC_ALL := C

# After Ctrl-C, when the running command has ended, print how to go on.
export GO_ON := make -f $(RECIPE)$(if $(typed), $(spoken)) $(MAKECMDGOALS)
.SHELLFLAGS := -c 'trap "exec >&2; printf \"%s\\n\" \"to go on: $$GO_ON\"; \
    exit 130" INT; eval "$$0"'

.PHONY: programs
programs:
	@$(if $(wildcard $(TOP)Makefile),$(MAKE) -s --no-print-directory \
	    -C $(or $(TOP),.) -f Makefile BUILD=$(if $(TOP),$(abspath \
	    $(BUILD)),$(BUILD)) all,:)

# Settings are kept beside the files that they made, as lines NAME=VALUE.
# changed: print those of the lines $(1) that differ in the files $(2).  A
# setting that a file lacks did not exist at that time, so it had no value, or
# was 0.
lines   = $(foreach v,$(2),'$(v)=$(subst ','\'',$(strip $($(v))))')
changed = printf '%s\n' $(1) | grep -vxF $(addprefix -f ,$(2)) | \
    while IFS= read -r s; do \
        case $${s\#*=} in ('' | 0) ! grep -q "^$${s%%=*}=" $(2); ;; (*) false; esac || \
            printf '%s\n' "$$s"; \
    done | grep .
# same: fail if settings $(2) differ from file $(1), under which $(3) was made.
define same
@if [ -e $(1) ] && changed=$$($(call changed,$(lines),$(1))); \
then printf '%s\n' "$$changed" | while IFS= read -r s; do \
        was=$$(grep "^$${s%%=*}=" $(1) || echo "no $${s%%=*}"); \
        echo "$(3) was made with $$was, not $$s"; \
    done | $(or $(in_options),cat) >&2; \
    $(if $(in_options),,echo 'remove $(3), or choose another WORK' >&2;) exit 1; fi
endef
define record
@mkdir -p $(@D) && printf '%s\n' $(lines) >$(1)
endef
# newer: print a file of the text $(1) that is newer than $(2), made from it.
newer = find -L $(1) -type f -newer $(2) 2>/dev/null | head -n 1

# variables: print the variables that the makefiles $(1) set, their values and
# the words behind them.
define variables
@{ printf '%s\n' $(call lines,,$(settable)); \
    sed -n -e 's/^\([A-Z_]*\) *?=[^#]*# \(.*\)/# \1 \2/p' \
        -e 's/^\([A-Z_]*\) *?=[^#]*$$/# \1/p' \
        -e 's/^# \(For experiments\).*/## \1:/p' \
        $(1); } | awk '\
    /^## / { print "\n" substr($$0, 4); next } \
    !/^# / { i = index($$0, "="); v = substr($$0, i + 1); \
        value[substr($$0, 1, i - 1)] = v == "" ? "-" : v; next } \
    !seen[$$2]++ { n = $$2; sub(/^# [^ ]* ?/, ""); \
        printf "  %s\t%s\t%s\n", n, value[n], $$0 }' | expand -t 17,49
endef
