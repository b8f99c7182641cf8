/* Gates of attention's outputs (Qwen 3.5): each output is multiplied by the
 * sigmoid of a number that Q's matrix gives too. */
#ifndef MODEL_ATT_GATE_H
#define MODEL_ATT_GATE_H

#include <stddef.h>

/*
 * Rearrange a token's row: n query heads of D numbers, n gates of D, and kv
 * numbers of K and V.  The product with the weights gives [q gate | q gate |
 * ... | K, V], attention takes [q | K, V | gates].  room: n*D floats.
 *   att_gate_apart: from the product's order to attention's.
 *   att_gate_join: back.
 */
void att_gate_apart(float *row, size_t n, size_t D, size_t kv, float *room);
void att_gate_join(float *row, size_t n, size_t D, size_t kv, float *room);

/* y [n] = x sigmoid(gate); y may be x. */
void att_gate(float *y, const float *x, const float *gate, size_t n);
/* From dy, the gradient of y, set dgate to the gradient of gate, and dy to the
 * gradient of x. */
void att_gate_bwd(float *dy, float *dgate, const float *x, const float *gate,
    size_t n);

#endif
