/* The `teacher` message: see introduce.h. */
#include "introduce.h"
#include "student_tokenizer.h"
#include "teacher.h"
#include "base/mem.h"
#include "msg/msg.h"

#include <stdlib.h>

/* The head is sent in tiles of this many bytes. */
enum { HEAD_BYTES = 1 << 20 };

int
adds_tokens(const struct teacher *t)
{
    return t->a->top > 0 || t->a->sample > 0;
}

/* Type of the head in the stream: its stored type, if a stream can hold that;
 * else fp32. */
static enum dtype
head_type(const struct weight *w)
{
    return w->perm == 0 &&
            (w->dtype == DT_F32 || w->dtype == DT_BF16 || w->dtype == DT_F16)
        ? w->dtype
        : DT_F32;
}

/* Send the head tile by tile, so that it is never all in memory. */
static int
send_head(struct teacher *t, struct err *e)
{
    const struct weight *w = &t->m.head;
    const int plain = head_type(w) == w->dtype;
    const size_t tile = HEAD_BYTES / (w->cols * sizeof(float)) + 1;
    float *wide =
        plain ? NULL : xreallocarray(NULL, tile * w->cols, sizeof *wide);
    int r = 0;

    for (size_t i = 0; r == 0 && i < w->rows; i += tile) {
        const size_t n = tile < w->rows - i ? tile : w->rows - i;

        if (!plain)
            weight_rows(w, i, n, wide);
        r = msg_send_part(t->out,
            plain ? w->data + i * w->stride : (const unsigned char *)wide,
            n * (plain ? w->stride : w->cols * sizeof *wide), e);
        model_forget_tile(&t->m, w, i, n);
    }
    free(wide);
    return r;
}

int
send_self(struct teacher *t, struct err *e)
{
    const struct weight *w = &t->m.head;
    const size_t d = t->m.c.d, shape[2] = { w->rows, w->cols };
    const int head = !t->a->no_head && (t->a->final || !adds_tokens(t));
    struct st_out *o = msg_begin(t->out, MSG_TEACHER);
    json_t *j = config_to_json(&t->m.c, NULL);
    char *config = json_dumps(j, JSON_COMPACT | JSON_SORT_KEYS), hash[33];
    char tau[32];
    float *norm = xreallocarray(NULL, d, sizeof(float));
    const size_t biases = head ? t->m.head_bias.cols : 0;
    float *bias = xreallocarray(NULL, biases + 1, sizeof *bias);
    int r;

    model_head_hash(&t->m, hash);
    weight_rows(&t->m.norm, 0, 1, norm);
    for (size_t i = 0; t->m.norm.add != 0.0f && i < d; i++)
        norm[i] += t->m.norm.add;
    for (size_t i = 0; i < d; i++)
        norm[i] *= config_logit_factor(&t->m.c); /* as forward does */
    st_out_meta(o, "config", config);
    st_out_meta(o, "head_hash", hash);
    st_out_meta(o, "final", "post-norm");
    st_out_meta(o, "hidden", "block output, before the final norm");
    if (adds_tokens(t)) {
        st_out_number(o, "vocab",
            t->student != NULL ? student_tokenizer_vocab(t->student)
                               : t->m.c.V);
        snprintf(tau, sizeof(tau), "%.17g", t->a->tau);
        st_out_meta(o, "temperature", tau);
    }
    if (t->student != NULL) {
        st_out_meta(o, "tokenizer", student_tokenizer_teacher_hash(t->student));
        st_out_meta(o, "student_tokenizer", student_tokenizer_hash(t->student));
    }
    if (head)
        st_out_tensor(o, "head", head_type(w), 2, shape, NULL);
    if (biases > 0) {
        st_out_tensor(o, "head_bias", DT_F32, 1, &biases, NULL);
        weight_rows(&t->m.head_bias, 0, 1, bias);
    }
    st_out_tensor(o, "norm", DT_F32, 1, &d, NULL);
    r = msg_send_begin(t->out, e);
    if (r == 0 && head)
        r = send_head(t, e);
    if (r == 0 && biases > 0)
        r = msg_send_part(t->out, bias, biases * sizeof *bias, e);
    if (r == 0)
        r = msg_send_part(t->out, norm, d * sizeof *norm, e);
    model_forget(&t->m, NULL);
    json_decref(j);
    free(config);
    free(bias);
    free(norm);
    return r;
}
