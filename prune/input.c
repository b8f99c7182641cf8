/* Opening models and checking streams: see input.h. */
#include "input.h"
#include "cli/die.h"
#include "cli/setup.h"
#include "cli/sh.h"
#include "model/config/delta_config.h"
#include "model/config/experts_config.h"
#include "model/config/mla_config.h"
#include "tok/tok.h"

#include <string.h>

void
input_model(struct model *m, const char *path)
{
    if (path == NULL)
        die(EX_USAGE,
            "which model? -m takes a model directory or a .gguf file");
    setup_model(m, path, NULL);
    if (model_is_f8(m))
        die(EX_INPUT,
            "%s: is in F8_E4M3, which cannot be pruned: convert it to BF16 "
            "first "
            "(convert --dtype bf16 %s OUT)",
            path, sh_word(path));
}

void
input_dense_model(struct model *m, const char *path)
{
    const char *has;

    input_model(m, path);
    has = config_has_mla(&m->c) ? "latent attention"
        : config_has_delta(&m->c)
        ? "blocks with the gated delta rule (linear_attention)"
        : NULL;
    if (config_is_mixture(&m->c))
        die(EX_INPUT,
            "%s: is a mixture of experts, of which only experts can "
            "be removed (prune experts); or distil it into a dense model "
            "(teacher -m %s | student -m SMALL)",
            path, sh_word(path));
    if (has != NULL)
        die(EX_INPUT,
            "%s: has %s, which cannot be pruned: distil it into a dense model "
            "(teacher -m %s | student -m SMALL)",
            path, has, sh_word(path));
}

void
input_head(struct stream_info *info, const struct msg_in *in,
    const struct st *head, const char *content, const char *tokenizer)
{
    const char *name = msg_in_name(in);
    struct err e, none;

    if (stream_info_read(info, head, &e) < 0)
        die(e.code, "%s: %s", name, e.msg);
    if (content != NULL && strcmp(info->content, content) != 0)
        die(EX_INPUT, "%s: holds %s, not %s", name, info->content,
            strcmp(content, "docs") == 0 ? "documents (see tokenize(1))"
                                         : "batches (see stream(1))");
    if (tok_matches(tokenizer, info->tokenizer, &none) == 0)
        die(EX_INPUT, "%s: was made with another tokenizer than that of %s",
            name, tokenizer);
}
