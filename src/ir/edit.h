/* The only functions by which a phase changes a function. Each keeps the CFG edges (fn->cfg, if built) up to date, and
 * marks the function and the changed instructions as changed. None of them fixes the layout: edit_layout does, once, when a
 * phase ends.
 *
 * An instruction that is moved to another scope prints from its operands there. edit_layout flattens a scope
 * (ir/scopes.h) whose blocks no longer stand together, or that declares a name used outside. Splitting or cloning
 * in-block scopes, and joining blocks of two scopes, are sound, but change more text. */
#ifndef PTXOPT_IR_EDIT_H
#define PTXOPT_IR_EDIT_H

#include "ir/ir.h"

/* Instructions. */
void instr_remove(Instr *i);
void instr_insert_before(Instr *at, Instr *i);
void instr_insert_after(Instr *at, Instr *i);
void instr_append(Block *b, Instr *i);         /* after the last instruction; before the terminator if there is one */
void instr_set_op(Instr *i, const OpInfo *op); /* another full opcode; the roles of the operands follow */
void instr_set_guard(Instr *i, RegId guard, bool negated); /* guard 0: none */
/* Replaces all operands; answers the instruction, which moves in memory when it has to grow. */
Instr *instr_set_operands(Instr *i, const Operand *slots, u32 count);

/* Renames each `from` that i reads, or writes, or both, to `to`. The guard counts as read. */
void instr_rename(Instr *i, RegId from, RegId to, bool reads, bool writes);

/* Control flow. */
void block_set_fall(Block *b, Block *to);          /* drops the jump's text if it leads elsewhere */
void block_set_branch_target(Block *b, Block *to); /* of the bra that terminates b */
void block_swap_successors(Block *b);              /* exchanges target and fall; the guard stays as it is */
/* Redirects every edge from b to `from` to `to`: branch, fall-through and table entries. A table that other blocks use,
 * too, is copied first. */
void block_redirect(Block *b, Block *from, Block *to);
/* Redirects the edges of a block that ends in a brx, in time linear in these. to: by place in its successors; NULL: the
 * edge stays. */
void block_redirect_table(Block *b, Block *const *to);
void block_remove_terminator(Block *b); /* control then continues at fall */
/* Gives b, which has no terminator, a conditional branch `@[!]guard bra to` in front of its fall-through. uniform: bra.uni */
void block_set_branch(Block *b, RegId guard, bool negated, Block *to, bool uniform);

void block_remove_jump(Block *b); /* removes the text of a jump to the next block, if there is one */

/* Blocks. */
/* A new block of b's scope at whose start `loc` is in force (NULL: no .loc). It is not in the layout yet. */
Block *block_new_like(const Block *b, const Instr *loc);
Block *block_split_before(Instr *at);          /* moves `at` and what follows to a new block, laid out after */
void block_split_into(Instr *at, Block *rest); /* does the same with a given, new block that is empty and in no layout */
/* Whether b may be appended to a. a leads only there, nothing else leads there, and b is neither the entry nor has a pinned
 * label. Blocks of two scopes may also be joined. Needs fn->cfg. */
bool block_can_join(const Block *a, const Block *b);
void block_join(Block *a, Block *b);           /* appends b, whose only in-edge is a's fall, to a, and removes it */
void block_remove(Block *b);                   /* b must be unreachable, and its labels not pinned */
void block_move_after(Block *b, Block *after); /* changes the layout only */
void block_move_to_end(Block *b);
Block *block_clone(Block *b); /* body and terminator, with the same successors; not in the layout, without labels */
/* Appends clones of the `count` instructions to b, each after the .loc that was in force at its original. */
void block_append_clones(Block *b, Instr *const *v, u32 count);

/* Removes a variable of the function that nothing names any more. Its declaration goes with the last variable in it. */
void edit_remove_variable(Function *fn, ScopeId scope, u32 decl, SymId sym);

/* Joins blocks after labels that nothing names to the block before. No text changes. Call it before the first phase. */
void edit_absorb_unused_labels(Function *fn);

/* Removes pure instructions whose results nobody reads since edits removed their last readers, and then those that only
 * these read. Other unread instructions of the input stay. The readers are counted once: until unread_free() no edit may
 * add one. Each call of unread_remove() answers how many it removed, and appends the ids of their blocks to *from unless
 * that is NULL. All calls together are linear in the function. */
typedef struct Unread Unread;
Unread *unread_new(Arena *arena, Function *fn);
u32 unread_remove(Unread *u, VecU32 *from);
void unread_free(Unread *u);
/* Ends a phase: does the same once, for all of fn. */
u32 edit_remove_unread(Function *fn);

/* Ends a phase, if fn->changed. Each block whose fall is not next in the layout gets a jump, and each block that is jumped
 * to a label. A block that ran off the end of the function and is no longer last gets a `ret`. Existing jumps to the next
 * block stay. */
void edit_layout(Function *fn);
/* Joins blocks that nothing separates any more, or at most labels. Call it after edit_layout(), with fn->cfg. The blocks
 * are then those that the printed text would be parsed as. Answers whether there were any. */
bool edit_places(Function *fn);

/* Gives fn a directive for ptxas in front of its body. d: one of its own. */
void edit_set_directive(Function *fn, Directive *d, u32 value);
/* Gives fn the pragma by which ptxas spills to shared memory. */
void edit_spill_to_shared(Function *fn);

/* Makes the function print as its own text, whatever phases did to it. */
void edit_revert(Function *fn);

#endif
