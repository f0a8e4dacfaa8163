/* Product nodes: the graph that is explored, which of its nodes comes next, and what arrives at them. */
#ifndef PTXOPT_CHECK_PROVE_NODE_H
#define PTXOPT_CHECK_PROVE_NODE_H

#include "check/prove/facts.h"
#include "check/prove/iterations.h"
#include "check/prove/open.h"

typedef struct Place {
    Block *block;
    Instr *at;
    bool joins; /* stands at the beginning of a join, and has not been there yet on this path */
} Place;

typedef struct Arrival {
    u32 from;          /* node */
    u32 version;       /* of that node's state */
    const Term *value; /* by slot of the node */
    u32 facts;
    const Fact *fact;
    Opens open[2];
    const Iteration *iterations;
} Arrival;

typedef struct Node {
    Place place[2];
    u32 id;
    u32 slots[2]; /* registers of BEFORE, then of AFTER */
    const RegId *reg;
    VEC(Arrival) arrivals;
    Term *value; /* the state; NULL: not explored yet */
    u32 facts;
    Fact *fact;
    Opens open[2];
    const Iteration *iterations;
    u32 version, visits, moves, opened; /* moves: visits that changed values; opened: visits since the states were final */
    bool queued;
    bool in_doubt; /* on a path from its state, as it is now, the sides differed */
    VecU32 next;   /* nodes it leads to: 4 * node + sides that moved */
    BitSet broken; /* slots that changed too often: each has a symbol of its own */
} Node;

/* Changed by node.c; `at` and `values_hold` by who explores (product.c, explore.c). */
typedef struct Product {
    VEC(Node *) nodes; /* [0] unused */
    HashIndex index;   /* by places */
    VecU32 queue;      /* heap of node ids */
    Node *at;          /* that is explored */
    bool values_hold;  /* the states are final: what is left is which threads are together */
} Product;

void prove_product_init(Product *product);
void prove_product_free(Product *product);

/* Ends the path in the node of both places; false: out of bounds. */
bool prove_arrive(Prover *p, const Place place[2]);
Node *prove_next_node(Prover *p); /* NULL: none is left */
/* Nodes that these edges led to from earlier states of n, and that n does not come to now, are merged again. */
void prove_outdate(Prover *p, const Node *n, const VecU32 *edges);

/* ---- states (merge.c) ---- */

/* The state of a node from its arrivals; false: as it was. */
bool prove_merge(Prover *p, Node *n);
/* Whether what the final state says of the number of iterations holds of all arrivals. */
bool prove_state_holds(Prover *p, Node *n);

#endif
