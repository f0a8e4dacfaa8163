/* The only functions by which a phase changes a function. Each keeps the CFG edges (fn->cfg, if built) in step, and marks
 * the function and what it touches as changed. None of them fixes the layout: edit_layout does, once, when a phase ends.
 *
 * An instruction that comes to stand in another scope prints from its operands there. Where a scope's blocks no longer
 * stand together, or something outside uses what it declares, edit_layout flattens it (ir/scopes.h): splitting in-block
 * scopes, cloning them, or joining blocks of two scopes is sound, but costs text. */
#ifndef PTXOPT_IR_EDIT_H
#define PTXOPT_IR_EDIT_H

#include "ir/ir.h"

/* Instructions. */
void instr_remove(Instr *i);
void instr_insert_before(Instr *at, Instr *i);
void instr_insert_after(Instr *at, Instr *i);
void instr_append(Block *b, Instr *i);                     /* after the last; before the terminator if there is one */
void instr_set_op(Instr *i, const OpInfo *op);             /* another full opcode; roles follow */
void instr_set_guard(Instr *i, RegId guard, bool negated); /* 0: none */
/* Replaces all operands: answers the instruction that now stands in its place (it moves when it has to grow). */
Instr *instr_set_operands(Instr *i, const Operand *slots, u32 count);

/* Each `from` that i reads, or writes, or both, becomes `to`; its guard counts as read. */
void instr_rename(Instr *i, RegId from, RegId to, bool reads, bool writes);

/* Control flow. */
void block_set_fall(Block *b, Block *to);          /* drops the jump's text if it leads elsewhere */
void block_set_branch_target(Block *b, Block *to); /* of the bra that terminates b */
void block_swap_successors(Block *b);              /* its target and its fall; the guard stays as it is */
/* Every edge from b to `from` now leads to `to`: branch, fall-through and table entries (the table is copied first when
 * other blocks use it too). */
void block_redirect(Block *b, Block *from, Block *to);
/* The same for a block that ends in a brx, in time linear in its edges. to: by place in its successors; NULL: stays. */
void block_redirect_table(Block *b, Block *const *to);
void block_remove_terminator(Block *b); /* control now goes to fall */
/* Gives b a conditional branch `@[!]guard bra to` in front of its fall-through; b has no terminator. uniform: bra.uni */
void block_set_branch(Block *b, RegId guard, bool negated, Block *to, bool uniform);

void block_remove_jump(Block *b); /* the text of a jump to the next block, if there is one */

/* Blocks. */
/* A block of b's scope at whose start `loc` is in force (NULL: no .loc); in no layout yet. */
Block *block_new_like(const Block *b, const Instr *loc);
Block *block_split_before(Instr *at);          /* at and what follows move to a new block, laid out after */
void block_split_into(Instr *at, Block *rest); /* likewise; `rest` is new: nothing is in it, and it in no layout */
/* Whether b may be appended to a: a only goes there, nobody else does, and b has no pinned label. Blocks of two scopes may be
 * joined too, as the printed text is read so; needs fn->cfg. */
bool block_can_join(const Block *a, const Block *b);
void block_join(Block *a, Block *b);           /* b, whose only in-edge is a.fall, is appended to a and removed */
void block_remove(Block *b);                   /* unreachable; its labels must not be pinned */
void block_move_after(Block *b, Block *after); /* layout only */
void block_move_to_end(Block *b);
Block *block_clone(Block *b); /* body and terminator, same successors; not in the layout, no labels */
/* Clones of the `count` instructions go to the end of b, each after the .loc that was in force at its original. */
void block_append_clones(Block *b, Instr *const *v, u32 count);

/* Before the first phase: blocks after labels that nothing names become one with the block before; no text changes. */
void edit_absorb_unused_labels(Function *fn);

/* Removes pure instructions whose results nobody reads since edits took their last readers away, and then those that only these
 * read; nothing else that the input has in vain is touched. The readers are counted once: until unread_free() no edit may add
 * one. Each call of unread_remove() answers how many it removed, and appends the ids of the blocks that they were in to *from
 * (NULL: nobody asks). All calls together are linear in the function. */
typedef struct Unread Unread;
Unread *unread_new(Arena *arena, Function *fn);
u32 unread_remove(Unread *u, VecU32 *from);
void unread_free(Unread *u);
/* Ends a phase: the same of all of fn, once. */
u32 edit_remove_unread(Function *fn);

/* Ends a phase (fn->changed says whether there is anything to do): a jump for every block whose fall is not next in layout, a
 * label for every block that is jumped to, `ret` for a block that ran off the end and is not last any more. Existing jumps to the
 * next block stay. */
void edit_layout(Function *fn);
/* After that, and with fn->cfg: joins blocks that nothing keeps apart any more, and those with at most labels in between, so
 * that the blocks are those that the printed text would be read as. Answers whether there were any. */
bool edit_places(Function *fn);

/* The function prints as its own text, whatever phases made of it. */
void edit_revert(Function *fn);

#endif
