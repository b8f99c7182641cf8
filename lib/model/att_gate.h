/* Gates of attention's outputs (Qwen 3.5): each output is multiplied by the
 * sigmoid of a number that Q's matrix gives too. */
#ifndef MODEL_ATT_GATE_H
#define MODEL_ATT_GATE_H

#include <stddef.h>

/* A token's row of products of n query heads of D numbers and kv numbers of K
 * and V.  Weights give each head's q with its gate after it; attention wants
 * [q | K, V | gates].  room [n*D].
 *   att_gate_apart: from the first to the second.
 *   att_gate_join: from the second to the first. */
void att_gate_apart(float *row, size_t n, size_t D, size_t kv, float *room);
void att_gate_join(float *row, size_t n, size_t D, size_t kv, float *room);

/* y [n] = x sigmoid(gate); y may be x. */
void att_gate(float *y, const float *x, const float *gate, size_t n);
/* From dy, the gradient of y, set dgate to the gradient of gate, and dy to the
 * gradient of x. */
void att_gate_bwd(float *dy, float *dgate, const float *x, const float *gate,
    size_t n);

#endif
