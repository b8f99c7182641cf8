/* Following a JSON document byte by byte; see json_state.h. */
#include "gen/json_state.h"
#include "base/mem.h"
#include "gen/json_number.h"
#include "gen/schema_impl.h"

#include <stdlib.h>
#include <string.h>

/* ---- strings ---- */

/* The parts of a string.  PART_U4 to PART_U1: 4 to 1 hex digits are missing;
 * PART_UD: the first digit of \u is D, so that the next must be below 8, as
 * half of a surrogate pair is no character.  PART_3 to PART_1: 3 to 1 bytes of
 * a UTF-8 character are missing; PART_E0 to PART_F4: the byte after this one
 * has a smaller range (Unicode, table 3-7). */
enum {
    PART_PLAIN = JSON_PLAIN,
    PART_ESCAPE,
    PART_U4,
    PART_UD,
    PART_U3,
    PART_U2,
    PART_U1,
    PART_3,
    PART_2,
    PART_1,
    PART_E0,
    PART_ED,
    PART_F0,
    PART_F4
};

static uint8_t
begin_character(unsigned char c)
{
    if (c < 0x20 || c == '"')
        return JSON_BROKEN;
    if (c < 0x80)
        return c == '\\' ? PART_ESCAPE : PART_PLAIN;
    if (c < 0xc2 || c > 0xf4)
        return JSON_BROKEN;
    if (c < 0xe0)
        return PART_1;
    if (c < 0xf0)
        return c == 0xe0 ? PART_E0 : c == 0xed ? PART_ED : PART_2;
    return c == 0xf0 ? PART_F0 : c == 0xf4 ? PART_F4 : PART_3;
}

static int
is_hex(unsigned char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') ||
        (c >= 'A' && c <= 'F');
}

static uint8_t
within(unsigned char c, unsigned char lo, unsigned char hi, uint8_t then)
{
    return c >= lo && c <= hi ? then : JSON_BROKEN;
}

uint8_t
json_string_next(uint8_t part, unsigned char c, int *begun)
{
    *begun = part == PART_PLAIN;
    switch (part) {
    case PART_PLAIN: return begin_character(c);
    case PART_ESCAPE:
        return c == 'u'                                    ? PART_U4
            : c != '\0' && strchr("\"\\/bfnrt", c) != NULL ? PART_PLAIN
                                                           : JSON_BROKEN;
    case PART_U4:
        return c == 'd' || c == 'D' ? PART_UD
            : is_hex(c)             ? PART_U3
                                    : JSON_BROKEN;
    case PART_UD: return within(c, '0', '7', PART_U2);
    case PART_U3: return is_hex(c) ? PART_U2 : JSON_BROKEN;
    case PART_U2: return is_hex(c) ? PART_U1 : JSON_BROKEN;
    case PART_U1: return is_hex(c) ? PART_PLAIN : JSON_BROKEN;
    case PART_3: return within(c, 0x80, 0xbf, PART_2);
    case PART_2: return within(c, 0x80, 0xbf, PART_1);
    case PART_1: return within(c, 0x80, 0xbf, PART_PLAIN);
    case PART_E0: return within(c, 0xa0, 0xbf, PART_1);
    case PART_ED: return within(c, 0x80, 0x9f, PART_1);
    case PART_F0: return within(c, 0x90, 0xbf, PART_2);
    case PART_F4: return within(c, 0x80, 0x8f, PART_2);
    }
    return JSON_BROKEN;
}

int
json_string_halved(uint8_t part)
{
    return part >= PART_3 && part <= PART_F4;
}

/* ---- threads ---- */

/* White space that may still come in a gap. */
enum {
    GAP_NONE,
    GAP_SPACE, /* a space */
    GAP_LINE,  /* a space, or a newline and spaces */
    GAP_INDENT /* the n spaces after a newline */
};
enum { INDENT = 4 }; /* spaces after a newline, for each open array or object */

/* The step from one state to the next. */
struct json_step {
    struct json_room *r;
    const struct schema *s;
    size_t to; /* number of the new state */
    unsigned char c;
};

static void
add_thread(const struct json_step *p, const struct json_thread *t)
{
    struct json_room *r = p->r;
    const size_t first = r->at[p->to].first, n = r->at[p->to].n;

    for (size_t i = 0; i < n; i++)
        if (memcmp(&r->thread[first + i], t, sizeof *t) == 0)
            return;
    if (n == JSON_THREADS)
        return;
    r->thread = xgrow(r->thread, first + n, &r->thread_cap, sizeof *r->thread);
    r->thread[first + n] = *t;
    r->at[p->to].n++;
}

static uint32_t
push_frame(const struct json_step *p, struct json_frame f)
{
    struct json_room *r = p->r;
    size_t *n = &r->at[p->to].frames;

    r->frame = xgrow(r->frame, *n, &r->frame_cap, sizeof *r->frame);
    r->frame[(*n)++] = f;
    return (uint32_t)*n;
}

/* Continue with another mode. */
static void
add_mode(const struct json_step *p, const struct json_thread *t,
    enum json_mode mode, uint8_t sub, uint32_t id)
{
    struct json_thread next;

    memset(&next, 0, sizeof next);
    next.mode = (uint8_t)mode;
    next.sub = sub;
    next.depth = t->depth;
    next.frame = t->frame;
    next.id = id;
    add_thread(p, &next);
}

static const struct json_frame *
frame_of(const struct json_step *p, const struct json_thread *t)
{
    return &p->r->frame[t->frame - 1];
}

/* May a value of the place stand inside `depth` arrays and objects? */
static int
fits_depth(const struct schema *s, uint32_t place, size_t depth)
{
    return s->place[place].depth + depth <= SCHEMA_DEPTH;
}

/* ---- values ---- */

static void
open_frame(const struct json_step *p, const struct json_thread *t,
    uint32_t kind, enum json_mode mode)
{
    struct json_thread next = *t;

    next.frame = push_frame(p, (struct json_frame){ t->frame, kind, 0 });
    next.depth++;
    add_mode(p, &next, mode, GAP_LINE, 0);
}

/* Narrow [*from,*to), texts whose first n bytes are equal, to those with c as
 * byte number n.  0: no text has it. */
static int
narrow(const struct schema *s, const struct schema_text *t, uint32_t n,
    unsigned char c, uint32_t *from, uint32_t *to)
{
    uint32_t lo = *from, hi = *to, end = *to;

    while (lo < hi) {
        const uint32_t mid = lo + (hi - lo) / 2;

        if (t[mid].n <= n || (unsigned char)s->bytes.p[t[mid].off + n] < c)
            lo = mid + 1;
        else
            hi = mid;
    }
    *from = hi = lo;
    while (hi < end) {
        const uint32_t mid = hi + (end - hi) / 2;

        if ((unsigned char)s->bytes.p[t[mid].off + n] == c)
            hi = mid + 1;
        else
            end = mid;
    }
    *to = hi;
    return *from < hi;
}

/* Read another byte of a literal. */
static void
continue_literal(const struct json_step *p, const struct json_thread *t)
{
    struct json_thread next = *t;
    const struct schema_text *text = p->s->text + p->s->kind[t->id].first;

    if (!narrow(p->s, text, t->n, p->c, &next.from, &next.to))
        return;
    next.n++;
    add_thread(p, &next);
}

/* Begin a value of a kind with the byte. */
static void
begin_kind(const struct json_step *p, const struct json_thread *t, uint32_t id)
{
    const struct schema_kind *k = &p->s->kind[id];
    struct json_thread next;

    if (k->depth + t->depth > SCHEMA_DEPTH)
        return;
    memset(&next, 0, sizeof next);
    next.depth = t->depth;
    next.frame = t->frame;
    next.id = id;
    switch (k->type) {
    case KIND_OBJECT:
    case KIND_MAP:
        if (p->c == '{')
            open_frame(p, t, id, READ_FIRST_NAME);
        break;
    case KIND_ARRAY:
        if (p->c == '[')
            open_frame(p, t, id, READ_FIRST_ITEM);
        break;
    case KIND_STRING:
        if (p->c == '"')
            add_mode(p, t, READ_STRING, JSON_PLAIN, id);
        break;
    case KIND_LITERALS:
        next.mode = READ_LITERAL;
        next.to = k->n;
        continue_literal(p, &next);
        break;
    case KIND_NUMBER:
    case KIND_INTEGER:
        if (json_number_begin(k, &next, p->c))
            add_thread(p, &next);
        break;
    }
}

static void
begin_value(const struct json_step *p, const struct json_thread *t,
    uint32_t place)
{
    const struct schema_place *at = &p->s->place[place];

    for (uint32_t i = 0; i < at->n; i++)
        begin_kind(p, t, p->s->choice[at->first + i]);
}

/* ---- names ---- */

/* Is property i, of an object whose inside has this depth, one that may come
 * when property number `next` is the first that may? */
static int
may_come(const struct schema *s, const struct schema_kind *k, uint32_t next,
    uint32_t i, size_t depth)
{
    return i >= next && i <= s->property[k->first + next].last &&
        fits_depth(s, s->property[k->first + i].place, depth);
}

/* May another name come? */
static int
has_names(const struct schema *s, const struct schema_kind *k, uint32_t next,
    size_t depth)
{
    if (k->type == KIND_MAP)
        return fits_depth(s, k->place, depth);
    for (uint32_t i = next; i < k->n; i++)
        if (may_come(s, k, next, i, depth))
            return 1;
    return 0;
}

/* May an object end before property number `next`? */
static int
may_close(const struct schema *s, const struct schema_kind *k, uint32_t next)
{
    return k->type == KIND_MAP || next == k->n ||
        !s->property[k->first + s->property[k->first + next].last].required;
}

/* Read a byte of a declared name. */
static void
continue_name(const struct json_step *p, const struct json_thread *t)
{
    const struct json_frame f = *frame_of(p, t);
    const struct schema_kind *k = &p->s->kind[f.kind];
    const struct schema_text *name = p->s->name + k->first;
    struct json_thread next = *t;
    uint32_t i;

    if (!narrow(p->s, name, t->n, p->c, &next.from, &next.to))
        return;
    for (i = next.from; i < next.to; i++)
        if (may_come(p->s, k, f.n, name[i].property, t->depth))
            break;
    if (i == next.to)
        return;
    if (++next.n < name[i].n) {
        add_thread(p, &next);
        return;
    }
    next.frame = push_frame(p,
        (struct json_frame){ f.outer, f.kind, name[i].property + 1 });
    add_mode(p, &next, READ_COLON, 0,
        p->s->property[k->first + name[i].property].place);
}

/* Begin a name with the byte. */
static void
begin_name(const struct json_step *p, const struct json_thread *t)
{
    const struct schema_kind *k = &p->s->kind[frame_of(p, t)->kind];
    struct json_thread next;

    if (p->c != '"')
        return;
    if (k->type == KIND_MAP) {
        if (fits_depth(p->s, k->place, t->depth))
            add_mode(p, t, READ_ANY_NAME, JSON_PLAIN, 0);
        return;
    }
    memset(&next, 0, sizeof next);
    next.mode = READ_NAME;
    next.depth = t->depth;
    next.frame = t->frame;
    next.to = k->n;
    continue_name(p, &next);
}

/* ---- after a value ---- */

static void
close_frame(const struct json_step *p, const struct json_thread *t)
{
    struct json_thread next = *t;

    next.frame = frame_of(p, t)->outer;
    next.depth--;
    add_mode(p, &next, READ_AFTER, GAP_LINE, 0);
}

static void
continue_array(const struct json_step *p, const struct json_thread *t, int gap)
{
    const struct json_frame f = *frame_of(p, t);
    const struct schema_kind *k = &p->s->kind[f.kind];
    struct json_thread next = *t;

    if (p->c == ']' && f.n + 1 >= k->lo)
        close_frame(p, t);
    if (p->c != ',' || gap != GAP_LINE || f.n + 1 >= k->hi)
        return;
    next.frame = push_frame(p,
        (struct json_frame){ f.outer, f.kind,
            k->hi == SCHEMA_NO_LIMIT && f.n >= k->lo ? f.n : f.n + 1 });
    add_mode(p, &next, READ_VALUE, GAP_LINE, k->place);
}

static void
continue_object(const struct json_step *p, const struct json_thread *t, int gap)
{
    const struct json_frame f = *frame_of(p, t);
    const struct schema_kind *k = &p->s->kind[f.kind];

    if (p->c == '}' && may_close(p->s, k, f.n))
        close_frame(p, t);
    if (p->c == ',' && gap == GAP_LINE && has_names(p->s, k, f.n, t->depth))
        add_mode(p, t, READ_NEXT_NAME, GAP_LINE, 0);
}

/* Read a byte after a value, or after the part `gap` of the space behind it. */
static void
continue_outer(const struct json_step *p, const struct json_thread *t, int gap)
{
    if (t->frame == 0)
        return;
    if (p->s->kind[frame_of(p, t)->kind].type == KIND_ARRAY)
        continue_array(p, t, gap);
    else
        continue_object(p, t, gap);
}

/* ---- steps ---- */

/* Add c to the gap if it is white space that may come there, else return 0.
 */
static int
continue_gap(const struct json_step *p, const struct json_thread *t)
{
    struct json_thread next = *t;

    if (p->c == ' ' && t->sub != GAP_NONE) {
        next.sub = t->sub == GAP_INDENT && t->n > 1 ? GAP_INDENT : GAP_NONE;
        next.n = next.sub == GAP_INDENT ? t->n - 1 : 0;
    } else if (p->c == '\n' && t->sub == GAP_LINE) {
        next.sub = GAP_INDENT;
        next.n = (uint32_t)INDENT * t->depth;
    } else {
        return 0;
    }
    add_thread(p, &next);
    return 1;
}

/* May white space come after a value, before the end of its array or object? */
static int
ends_soon(const struct json_step *p, const struct json_thread *t)
{
    const struct json_frame *f = frame_of(p, t);
    const struct schema_kind *k = &p->s->kind[f->kind];

    return k->type == KIND_ARRAY ? f->n + 1 >= k->lo : may_close(p->s, k, f->n);
}

static void
continue_after(const struct json_step *p, const struct json_thread *t)
{
    if (t->frame == 0 || !ends_soon(p, t) || !continue_gap(p, t))
        continue_outer(p, t, t->sub);
}

static void
continue_first(const struct json_step *p, const struct json_thread *t)
{
    const struct schema_kind *k = &p->s->kind[frame_of(p, t)->kind];

    if (continue_gap(p, t))
        return;
    if (t->mode == READ_FIRST_NAME) {
        if (p->c == '}' && may_close(p->s, k, 0))
            close_frame(p, t);
        begin_name(p, t);
        return;
    }
    if (p->c == ']' && k->lo == 0)
        close_frame(p, t);
    if (k->hi > 0)
        begin_value(p, t, k->place);
}

static void
continue_string(const struct json_step *p, const struct json_thread *t)
{
    const struct schema_kind *k = &p->s->kind[t->id];
    struct json_thread next = *t;
    int begun;

    if (p->c == '"' && t->sub == JSON_PLAIN) {
        if (t->n >= k->lo)
            add_mode(p, t, READ_AFTER, GAP_LINE, 0);
        return;
    }
    next.sub = json_string_next(t->sub, p->c, &begun);
    if (next.sub == JSON_BROKEN || (begun && t->n >= k->hi))
        return;
    if (begun && (k->hi != SCHEMA_NO_LIMIT || t->n < k->lo))
        next.n++;
    add_thread(p, &next);
}

/* A name of a KIND_MAP. */
static void
continue_any_name(const struct json_step *p, const struct json_thread *t)
{
    struct json_thread next = *t;
    int begun;

    if (p->c == '"' && t->sub == JSON_PLAIN) {
        add_mode(p, t, READ_COLON, 0, p->s->kind[frame_of(p, t)->kind].place);
        return;
    }
    next.sub = json_string_next(t->sub, p->c, &begun);
    if (next.sub != JSON_BROKEN)
        add_thread(p, &next);
}

static int
is_whole_literal(const struct schema *s, const struct json_thread *t)
{
    return s->text[s->kind[t->id].first + t->from].n == t->n;
}

/* Read the byte after a literal or a number, which end where that byte is no
 * part of them. */
static void
end_scalar(const struct json_step *p, const struct json_thread *t)
{
    struct json_thread after = *t;

    after.mode = READ_AFTER;
    after.sub = GAP_LINE;
    after.id = after.n = after.from = after.to = after.minus = 0;
    continue_after(p, &after);
}

static void
step_thread(const struct json_step *p, const struct json_thread *t)
{
    struct json_thread next = *t;

    switch (t->mode) {
    case READ_VALUE:
        if (!continue_gap(p, t))
            begin_value(p, t, t->id);
        break;
    case READ_FIRST_ITEM:
    case READ_FIRST_NAME: continue_first(p, t); break;
    case READ_NEXT_NAME:
        if (!continue_gap(p, t))
            begin_name(p, t);
        break;
    case READ_COLON:
        if (p->c == ':')
            add_mode(p, t, READ_VALUE, GAP_SPACE, t->id);
        break;
    case READ_AFTER: continue_after(p, t); break;
    case READ_LITERAL:
        continue_literal(p, t);
        if (is_whole_literal(p->s, t))
            end_scalar(p, t);
        break;
    case READ_NAME: continue_name(p, t); break;
    case READ_ANY_NAME: continue_any_name(p, t); break;
    case READ_STRING: continue_string(p, t); break;
    case READ_NUMBER:
        if (json_number_next(&p->s->kind[t->id], &next, p->c))
            add_thread(p, &next);
        if (json_number_ends(&p->s->kind[t->id], t))
            end_scalar(p, t);
        break;
    }
}

/* ---- states ---- */

void
json_state_release(struct json_state *s)
{
    free(s->thread);
    free(s->frame);
    *s = (struct json_state){ 0 };
}

void
json_room_release(struct json_room *r)
{
    free(r->thread);
    free(r->frame);
}

void
json_state_begin(struct json_state *s, const struct schema *schema)
{
    *s = (struct json_state){ .threads = 1 };
    s->thread = xgrow_pow2(NULL, 0, sizeof *s->thread);
    memset(s->thread, 0, sizeof *s->thread);
    s->thread->mode = READ_VALUE;
    s->thread->sub = GAP_NONE;
    s->thread->id = schema->root;
}

void
json_room_load(struct json_room *r, const struct schema *schema,
    const struct json_state *s)
{
    r->schema = schema;
    for (size_t i = 0; i < s->threads; i++) {
        r->thread = xgrow(r->thread, i, &r->thread_cap, sizeof *r->thread);
        r->thread[i] = s->thread[i];
    }
    for (size_t i = 0; i < s->frames; i++) {
        r->frame = xgrow(r->frame, i, &r->frame_cap, sizeof *r->frame);
        r->frame[i] = s->frame[i];
    }
    r->at[0].first = 0;
    r->at[0].n = s->threads;
    r->at[0].frames = s->frames;
}

size_t
json_room_byte(struct json_room *r, size_t at, unsigned char c)
{
    const struct json_step p = { r, r->schema, at + 1, c };
    const size_t first = r->at[at].first, n = r->at[at].n;

    r->at[at + 1].first = first + n;
    r->at[at + 1].n = 0;
    r->at[at + 1].frames = r->at[at].frames;
    for (size_t i = 0; i < n; i++) {
        /* the array may move while threads are added */
        const struct json_thread t = r->thread[first + i];

        step_thread(&p, &t);
    }
    return r->at[at + 1].n;
}

/* Append the frames of a thread to the `frames` frames of s.  Returns the index
 * of the innermost one, plus 1. */
static uint32_t
copy_frames(const struct json_room *r, uint32_t frame, struct json_state *s)
{
    const size_t first = s->frames;

    for (; frame > 0; frame = r->frame[frame - 1].outer) {
        s->frame = xgrow_pow2(s->frame, s->frames, sizeof *s->frame);
        s->frame[s->frames++] = r->frame[frame - 1];
        s->frame[s->frames - 1].outer = (uint32_t)s->frames + 1;
    }
    if (s->frames == first)
        return 0;
    s->frame[s->frames - 1].outer = 0;
    return (uint32_t)first + 1;
}

void
json_room_keep(const struct json_room *r, size_t at, struct json_state *s)
{
    const struct json_thread *t = r->thread + r->at[at].first;

    json_state_release(s);
    for (size_t i = 0; i < r->at[at].n; i++) {
        s->thread = xgrow_pow2(s->thread, i, sizeof *s->thread);
        s->thread[i] = t[i];
        s->thread[i].frame = copy_frames(r, t[i].frame, s);
    }
    s->threads = r->at[at].n;
}

int
json_room_complete(const struct json_room *r, size_t at)
{
    const struct json_thread *t = r->thread + r->at[at].first;

    for (size_t i = 0; i < r->at[at].n; i++)
        if (t[i].frame == 0 &&
            (t[i].mode == READ_AFTER ||
                (t[i].mode == READ_NUMBER &&
                    json_number_ends(&r->schema->kind[t[i].id], &t[i])) ||
                (t[i].mode == READ_LITERAL &&
                    is_whole_literal(r->schema, &t[i]))))
            return 1;
    return 0;
}

int
json_room_halved(const struct json_room *r, size_t at)
{
    const struct json_thread *t = r->thread + r->at[at].first;

    for (size_t i = 0; i < r->at[at].n; i++)
        if ((t[i].mode != READ_STRING && t[i].mode != READ_ANY_NAME) ||
            !json_string_halved(t[i].sub))
            return 0;
    return 1;
}
