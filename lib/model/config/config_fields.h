/* Configuration fields: one table of the keys of config.json and of a GGUF,
 * with the numbers that they set, and the functions that read and write a file
 * by it.  Private to lib/model. */
#ifndef MODEL_CONFIG_FIELDS_H
#define MODEL_CONFIG_FIELDS_H

#include "format/gguf.h"
#include "format/gguf_write.h"
#include "model/config/config.h"
#include "model/config/family.h"

/* Families that share keys; config_fields.c has others. */
#define GEMMA (FAMILY_GEMMA2 | FAMILY_GEMMA3)
#define QWEN_MOE (FAMILY_QWEN2_MOE | FAMILY_QWEN3_MOE | FAMILY_QWEN3_NEXT)
#define DELTAS (FAMILY_QWEN3_5 | FAMILY_QWEN3_NEXT | FAMILY_QWEN3_5_MOE)
#define DEEPSEEK (FAMILY_DEEPSEEK_V2 | FAMILY_DEEPSEEK_V3)
#define MIXTURES                                                            \
    (FAMILY_MIXTRAL | QWEN_MOE | FAMILY_OLMOE | FAMILY_GPT_OSS | DEEPSEEK | \
        FAMILY_QWEN3_5_MOE)
#define GLMS (FAMILY_GLM | FAMILY_GLM4)
/* RoPE turns a part of a head */
#define PARTIAL (FAMILY_PHI3 | DELTAS | FAMILY_GPT_NEOX | FAMILY_PHI | GLMS)
#define ALL (~UINT64_C(0))
#define BUT(families) (~(families))

/* A configuration as files have it: c, and numbers from which members of c
 * follow. */
struct config_file {
    struct config c;
    size_t window;       /* c.window, or one that the family ignores */
    size_t window_again; /* SIZE_MAX: not given; else it must equal window */
    int windowed;        /* blocks from window_from on have the window */
    size_t window_from;
    size_t every;              /* every n-th block has no window */
    size_t rope_every;         /* every n-th block has no RoPE */
    size_t rotary;             /* dimensions of a head that RoPE turns */
    size_t value;              /* numbers of a value head */
    size_t key_mla, value_mla; /* numbers of a key head and of a value head, if
                                * D and value are those of the cache */
    int pairs;                 /* latent attention: RoPE turns pairs */
    size_t shared;             /* shared experts */
    size_t first;              /* first blocks, which have no experts */
    size_t step;               /* every n-th block has experts */
    size_t inner;    /* numbers of all value heads of the delta rule */
    size_t interval; /* every n-th block has attention */
    int adjusted;    /* 1: the MLP has multiplier * 2/3 * intermediate_size
                      * channels, rounded up to a multiple of `multiple` */
    double multiplier;
    size_t multiple;
    size_t next; /* layers that predict further tokens */
    /* RoPE of a GGUF (gguf_rope.c), NAN: not given */
    double factor, log_multiplier, attn_factor;
};

enum field_type {
    IS_NONE, /* the row has no number: functions read and write the key */
    IS_SIZE,
    IS_REAL,
    IS_BOOL,
    IS_ID /* of a token; -1, in config.json null: none */
};

/* Exceptions in reading and writing.
 *   WRITE_ONLY  the row is not for reading
 *   READ_ONLY   the row is not for writing
 *   NULLABLE    null and a missing key of config.json differ; 0 is written as
 *               null, and is not put in a GGUF
 *   NO_ZERO     0 is not written
 *   ASSUMED     readers of a GGUF without the key take the value that
 *               transformers assumes
 *   PUT_ONLY    `only` is written
 *   BY_HAND     a base of RoPE; config_rope.c reads it from config.json
 *   NEEDED      in a row for kinds of RoPE: the file must have the key */
enum {
    WRITE_ONLY = 1,
    READ_ONLY = 2,
    NULLABLE = 4,
    ASSUMED = 8,
    PUT_ONLY = 16,
    BY_HAND = 32,
    NEEDED = 64,
    NO_ZERO = 128
};

/* A row of the table.  A file has the keys of all rows of its family.  Of
 * several rows for one key, the first one of the family says which values are
 * accepted. */
struct field {
    const char *json;  /* key of config.json; NULL: there is none */
    const char *gguf;  /* key of a GGUF, for arch_key; NULL: there is none */
    uint64_t families; /* FAMILY_* */
    unsigned kinds;    /* KIND of each kind of RoPE that has it; 0: all */
    enum field_type type;
    size_t at;        /* the number's offset in struct config_file */
    double low, high; /* limits of a size or a real */
    uint64_t need;    /* families whose GGUF must have the key, because the
                       * value that llama.cpp assumes is wrong for them */
    int how;          /* WRITE_ONLY, ... */
    int turn;         /* keys of a GGUF are written by turn, then by row */
    const char *only; /* JSON text of the one value implemented; NULL: any */
    /* makes the value for config.json; where it gives NULL, null is written if
     * `how` has NULLABLE, else the key is left out */
    json_t *(*make)(const struct config *c);
};
/* Turns: from FIRST to LAST, which is that of llama.cpp's converter; of RoPE's
 * scaling; of factors and caps; of the window, if a block has it. */
enum { TURN_FIRST = -2, TURN_LAST = 3, TURN_ROPE, TURN_SCALES, TURN_WINDOWS };

/* Parts of rows. */
#define KIND(k) (1u << ROPE_##k)
#define SIZE(m, l, h) NUMBER(IS_SIZE, m), .low = (l), .high = (h)
#define REAL(m, l, h) NUMBER(IS_REAL, m), .low = (l), .high = (h)
#define BOOL(m) NUMBER(IS_BOOL, m)
#define ID(m) NUMBER(IS_ID, m), .how = NULLABLE
#define NUMBER(t, m) .type = (t), .at = offsetof(struct config_file, m)
/* a factor of activations, and a cap */
#define FACTOR(m) REAL(m, 1e-9, 1e9), .need = ALL, .turn = TURN_SCALES
#define CAP(m) \
    REAL(m, 1e-9, 1e9), .how = NULLABLE | ASSUMED, .turn = TURN_SCALES
/* a key that functions read and write, or that changes nothing */
#define KNOWN .type = IS_NONE
/* a value of config.json that is written whatever is read */
#define CONSTANT(text) .only = (text), .how = WRITE_ONLY | PUT_ONLY

/* The keys of an object of config.json. */
struct field_table {
    const struct field *row;
    size_t n;
};
/* config_fields: those of the outermost object, and all keys of a GGUF.
 * rope_fields: of rope_parameters and rope_scaling. */
extern const struct field_table config_fields, rope_fields;

/* Return the GGUF key of a row of the table: "llama.NAME" if the architecture
 * of c's family is llama; NAME itself if it begins with "tokenizer.".  Valid
 * until the next call. */
const char *arch_key(const struct config *c, const char *name);
/* Values of keys that config.c makes. */
json_t *config_class_json(const struct config *c);
json_t *config_type_json(const struct config *c);
json_t *config_bias_json(const struct config *c);
json_t *config_gelu_json(const struct config *c);
json_t *config_layers_json(const struct config *c);

/* Set *f to the values that the family of c has where a file lacks the key. */
void config_file_init(struct config_file *f, const struct config *c);
/* Set *f to c and the numbers that files have instead of members of c. */
void config_file_of(struct config_file *f, const struct config *c);

/* Read the numbers of table t from the object of config.json whose path is
 * `at`; config_fill has set missing keys.  -1 and *e: a value has the wrong
 * type or is out of range. */
int fields_from_json(const struct field_table *t, struct config_file *f,
    const json_t *j, const char *at, struct err *e);
/* Set KV and D, and mlp of a gpt2, to their usual values if the file lacked
 * them (they are 0). */
void fields_heads(struct config *c);
/* Make an object of the keys of t. */
json_t *fields_to_json(const struct field_table *t,
    const struct config_file *f);
/* Read the numbers of a GGUF.  -1 and *e: a key is not known or is missing, or
 * a value is not implemented. */
int fields_from_gguf(struct config_file *f, const struct gguf *g,
    struct err *e);
/* Read the rows with `kinds`, as far as they are for f->c.rope;
 * fields_from_gguf reads the other rows. */
int fields_of_kind(struct config_file *f, const struct gguf *g, struct err *e);
/* Put the keys of f's family that have this turn. */
void fields_to_gguf(const struct config_file *f, int turn, struct gguf_out *o);
/* Return a key of config.json that is null in c although a GGUF has no way to
 * store that; NULL if there is no such key. */
const char *fields_null(const struct config *c);

#endif
