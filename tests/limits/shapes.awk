# Prints a kernel that reaches bounds of the optimizer which no real file does: see tests/limits.sh.
# usage: awk -v shape=NAME -f tests/limits/shapes.awk
function say(text) { print "    " text }
function label(name) { print name ":" }
# One of several conditions on the loaded number, into a predicate.
function compare(k) { say("setp.gt.u32 %p" k ", %r1, " 3 * k + 7 ";") }
function store(at, reg) { say("st.global.u32 [%rd2+" 4 * at "], %r" reg ";") }
BEGIN {
    print ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u32 n)\n{"
    say(".reg .pred %p<2000>;")
    say(".reg .b32 %r<3000>;")
    say(".reg .b64 %rd<2000>;")
    say("ld.param.u64 %rd1, [p];")
    say("cvta.to.global.u64 %rd2, %rd1;")
    say("ld.global.u32 %r1, [%rd2];")
    say("ld.param.u32 %r2, [n];")
    say("mov.u32 %r3, %tid.x;")
    if (shape == "facts") { # 80 branches on one number, one behind the other, and a question where none of them has decided
        for (k = 0; k < 80; k++) {
            compare(k)
            say("@%p" k " bra N" k ";")
            say("bra J;")
            label("N" k)
            store(k, 1)
        }
        say("bra OUT;")
        label("J")
        say("setp.eq.u32 %p901, %r2, 3;")
        say("@%p901 bra OUT;")
        say("setp.gt.u32 %p900, %r1, 5;")
        say("@%p900 bra OUT;")
        store(81, 2)
    } else if (shape == "hops") { # 70 blocks that do nothing before the header of a loop
        say("setp.eq.u32 %p0, %r1, 1;")
        say("@%p0 bra H;")
        for (k = 0; k < 70; k++) {
            say("setp.eq.u32 %p" k + 1 ", %r1, " k + 9 ";")
            say("@%p" k + 1 " bra E" k ";")
        }
        for (k = 0; k < 70; k++) {
            label("E" k)
            say("bra " (k < 69 ? "E" k + 1 : "H") ";")
        }
        label("H")
        say("add.u32 %r3, %r3, 1;")
        store(3, 3)
        say("setp.lt.u32 %p100, %r3, %r2;")
        say("@%p100 bra H;")
    } else if (shape == "shift") { # what a loop passes on is constant after ten iterations
        for (k = 10; k < 22; k++)
            say("ld.global.u32 %r" k ", [%rd2+" 4 * k "];")
        label("H")
        for (k = 21; k > 10; k--)
            say("add.u32 %r" k ", %r" k - 1 ", 1;")
        say("mov.u32 %r10, 5;")
        say("setp.lt.u32 %p0, %r21, 40;")
        say("@%p0 bra H;")
        store(1, 21)
    } else if (shape == "affine") { # a counter that is compared through forty additions
        say("mov.u32 %r9, 0;")
        label("H")
        for (k = 10; k < 50; k++)
            say("add.u32 %r" k ", %r" k - 1 ", 3;")
        store(1, 49)
        say("add.u32 %r9, %r9, 1;")
        say("setp.lt.u32 %p0, %r49, %r2;")
        say("@%p0 bra H;")
        store(2, 9)
    } else if (shape == "hoist" || shape == "names") { # arms that begin alike
        compare(0)
        say("@%p0 bra B;")
        for (arm = 0; arm < 2; arm++) {
            if (arm)
                label("B")
            if (shape == "hoist")
                for (k = 10; k < 80; k++)
                    say("xor.b32 %r" k ", %r" (k == 10 ? 1 : k - 1) ", %r3;")
            else
                for (k = 0; k < 17; k++)
                    say("ld.global.v4.u32 {%r" 10 + 4 * k ", %r" 11 + 4 * k ", %r" 12 + 4 * k ", %r" 13 + 4 * k "}, [%rd2+" 16 * k + 16 "];")
            for (k = 10; k < (shape == "hoist" ? 80 : 78); k++)
                say((arm ? "add" : "sub") ".u32 %r100, %r" (k == 10 ? 2 : 100) ", %r" k ";")
            store(90 + arm, 100)
            if (!arm)
                say("bra OUT;")
        }
    } else if (shape == "steps") { # one question about a tree of choices, each by a tree of conditions
        for (k = 0; k < 64; k++) {
            compare(k)
            say("and.b32 %r" 100 + k ", %r" (k % 2 ? 1 : 3) ", " k + 1 ";")
        }
        at = 0
        to = 64
        for (n = 32; n > 0; n = int(n / 2))
            for (k = 0; k < n; k++) {
                say("and.pred %p" to ", %p" at ", %p" at + 1 ";")
                say("selp.b32 %r" 100 + to ", %r" 100 + at ", %r" 101 + at ", %p" to ";")
                at += 2
                to++
            }
        say("setp.gt.u32 %p900, %r" 99 + to ", 255;")
        say("@%p900 bra OUT;")
        store(1, 99 + to)
    } else if (shape == "ladder") { # 30 blocks from which control goes one up or one down; both ends leave; one decided branch
        say("setp.gt.u32 %p900, %r1, 5;")
        say("@%p900 bra A0;")
        say("setp.gt.u32 %p901, %r1, 5;")
        say("@%p901 bra X;")
        for (k = 0; k < 30; k++) {
            label("A" k)
            say("bar.warp.sync -1;")
            say("ld.volatile.global.u32 %r" 50 + k ", [%rd2+" 4 * k "];")
            say("setp.eq.u32 %p" k ", %r" 50 + k ", %r3;")
            say("@%p" k " bra " (k ? "A" k - 1 : "X") ";")
        }
        store(40, 3)
        say("ret;")
        label("X")
        store(41, 3)
    } else if (shape == "regions") { # rings of two blocks, each entered in both from the one before
        say("setp.eq.u32 %p0, %r1, 0;")
        say("@%p0 bra B0;")
        for (side = 0; side < 2; side++)
            for (k = 0; k < 160; k++) {
                label((side ? "B" : "A") k)
                store(k, 3)
                say("add.u32 %r3, %r3, " side + 1 ";")
                say("setp.lt.u32 %p1, %r3, %r2;")
                say("@%p1 bra " (side ? "A" : "B") k ";")
                if (k == 159)
                    say("bra OUT;")
            }
    } else if (shape == "walked") { # a loop of more than 8,192 machine instructions around an array of the thread's own
        say(".local .align 4 .b8 d[16];")
        say("mov.u32 %r9, 0;")
        label("H")
        say("mul.wide.u32 %rd4, %r9, 4;")
        say("mov.u64 %rd5, d;")
        say("add.s64 %rd6, %rd5, %rd4;")
        say("st.local.u32 [%rd6], %r3;")
        for (k = 0; k < 8200; k++)
            say("xor.b32 %r3, %r3, %r" (k % 2 ? 1 : 9) ";")
        say("add.u32 %r9, %r9, 1;")
        say("setp.ne.u32 %p0, %r9, 4;")
        say("@%p0 bra H;")
        say("ld.local.u32 %r8, [d+4];")
        store(1, 8)
        store(2, 3)
    } else if (shape == "above") { # conditions to combine, after 1,100 instructions
        for (k = 10; k < 1110; k++)
            say("add.u32 %r" k ", %r" (k == 10 ? 1 : k - 1) ", %r3;")
        store(3, 1109)
        say("setp.ge.s32 %p1, %r3, 17;")
        say("@%p1 bra OUT;")
        say("setp.gt.s32 %p2, %r1, %r2;")
        say("@%p2 bra OUT;")
        store(1, 3)
    } else if (shape == "renamed") { # arms that end alike in another register, which is written long before
        compare(0)
        say("@%p0 bra B;")
        for (arm = 0; arm < 2; arm++) {
            if (arm)
                label("B")
            say((arm ? "add" : "sub") ".u32 %r" 10 + arm ", %r1, %r3;")
            for (k = 20; k < 320; k++)
                say((arm ? "add" : "sub") ".u32 %r4, %r" (k == 20 ? 3 : 4) ", " k ";")
            store(4, 4)
            for (k = 0; k < 6; k++) {
                say("xor.b32 %r" 700 + k ", %r" (k ? 699 + k : 10 + arm) ", %r2;")
                store(10 + k, 700 + k)
            }
            if (!arm)
                say("bra OUT;")
        }
    } else if (shape == "set_up") { # a branch that skips a loop and five blocks in front of it
        say("mov.u32 %r3, %ntid.x;")
        say("mov.u32 %r4, 0;")
        say("setp.lt.u32 %p1, %r3, 1;")
        say("@%p1 bra DONE;")
        for (k = 0; k < 6; k++) {
            say("setp.eq.u32 %p" 10 + k ", %r1, " k ";")
        }
        say("mov.u32 %r5, 0;")
        say("bra S0;")
        for (k = 0; k < 6; k++) {
            label("S" k)
            say("add.u32 %r5, %r5, %r1;")
        }
        label("H")
        say("add.s32 %r4, %r4, %r5;")
        say("add.s32 %r5, %r5, 1;")
        say("setp.lt.u32 %p2, %r5, %r3;")
        say("@%p2 bra H;")
        label("DONE")
        store(1, 4)
    } else if (shape == "clones") { # 300 branches that the one before decides, after some work
        for (k = 0; k < 300; k++) {
            say("setp.lt.s32 %p" 2 * k ", %r1, %r2;")
            say("@%p" 2 * k " bra G" k ";")
            for (n = 0; n < 14; n++)
                say("mad.lo.s32 %r3, %r3, %r3, " k + n ";")
            say("bra J" k ";")
            label("G" k)
            for (n = 0; n < 14; n++)
                say("mad.lo.s32 %r3, %r3, %r3, " k + n + 60 ";")
            label("J" k)
            say("xor.b32 %r3, %r3, " k ";")
            say("mul.lo.u32 %r3, %r3, " k + 3 ";")
            say("@%p" 2 * k " bra C" k ";")
            for (n = 0; n < 14; n++)
                say("mad.lo.s32 %r3, %r3, %r3, " k + n + 30 ";")
            say("bra M" k ";")
            label("C" k)
            for (n = 0; n < 14; n++)
                say("mad.lo.s32 %r3, %r3, %r3, " k + n + 90 ";")
            label("M" k)
            say("ld.volatile.global.u32 %r1, [%rd2+" 4 * k "];")
        }
        store(1, 3)
    } else if (shape == "barred") { # 500 conditions, each in the one before, with a barrier in each
        print "    .shared .align 4 .b8 s[1024];"
        say("mov.u32 %r4, s;")
        for (k = 0; k < 500; k++) {
            say("setp.gt.u32 %p" k ", %r" (k ? 9 + k : 2) ", " k ";")
            say("@%p" k " bra OUT;")
            say("st.shared.u32 [%r4+4], %r2;")
            say("bar.sync 0;")
            say("ld.shared.u32 %r" 10 + k ", [%r4];")
            store(k, 10 + k)
        }
    } else if (shape == "revealed") { # 200 conditions: an edge to each is taken only if the one before could hold
        say("mov.u32 %r10, 0;")
        for (k = 0; k < 200; k++) {
            say("setp.eq.u32 %p1, %r10, 1;")
            say("@%p1 bra A" k ";")
            store(k, 2)
            say("bra J" k ";")
            label("A" k)
            say("bar.sync 0;")
            say("mov.u32 %r10, 1;")
            store(k + 1, 2)
            label("J" k)
            say("add.u32 %r2, %r2, %r10;")
            store(k, 2)
        }
    } else if (shape == "lifetimes") { # 1,500 variables, each of which lives over 1,500 blocks
        for (k = 0; k < 1500; k++)
            say(".local .align 4 .b8 d" k "[4];")
        for (k = 0; k < 1500; k++)
            say("st.local.u32 [d" k "], %r3;")
        for (k = 0; k < 1500; k++) {
            say("setp.gt.u32 %p1, %r1, " k ";")
            say("@%p1 bra B" k ";")
            store(k, 2)
            label("B" k)
        }
        for (k = 0; k < 1500; k++) {
            say("ld.local.u32 %r4, [d" k "];")
            store(k, 4)
        }
    } else if (shape == "exits") { # loops that leave the function from 100 dominated blocks each
        label("H")
        say("ld.global.u32 %r4, [%rd2+4];")
        say("setp.eq.u32 %p0, %r4, 7;")
        say("@%p0 bra A;")
        say("setp.eq.u32 %p1, %r4, 9;")
        say("@%p1 bra B;")
        say("add.u32 %r3, %r3, 1;")
        say("setp.lt.u32 %p2, %r3, %r2;")
        say("@%p2 bra H;")
        store(3, 3)
        say("ret;")
        for (arm = 0; arm < 2; arm++) {
            label(arm ? "B" : "A")
            for (k = 0; k < 80; k++) {
                say("ld.global.u32 %r9, [%rd2+" 4 * k + 1000 * arm "];")
                say("setp.eq.u32 %p3, %r9, " k ";")
                say("@%p3 bra " (arm ? "D" : "C") k ";")
                store(90 + k + 500 * arm, 3)
                label((arm ? "D" : "C") k)
            }
            for (k = 0; k < 8; k++) {
                say("mad.lo.u32 %r5, %r" (k ? 5 : 4) ", 7, " k ";")
                store(k, 5)
            }
            say("ret;")
        }
    } else if (shape == "branches") { # arms with the same shuffle, behind 1,100 branches
        say("setp.gt.u32 %p2, %r3, 5;")
        for (k = 0; k < 1100; k++) {
            say("ld.global.u32 %r9, [%rd2+" 4 * k "];")
            say("setp.eq.u32 %p1, %r9, %r3;")
            say("@%p1 bra OUT;")
        }
        say("setp.gt.u32 %p2, %r3, 5;")
        say("@%p2 bra B;")
        for (arm = 0; arm < 2; arm++) {
            if (arm)
                label("B")
            say((arm ? "add" : "sub") ".u32 %r4, %r1, %r3;")
            say("shfl.sync.bfly.b32 %r5, %r4, 1, 31, -1;")
            for (k = 0; k < 8; k++) {
                say("mad.lo.u32 %r5, %r5, 7, " k ";")
                store(k, 5)
            }
            say("bra OUT;")
        }
    } else if (shape == "rounds") { # loops after each other: two pointers step together in each, since they did before
        say("mul.wide.u32 %rd10, %r3, 4;")
        say("add.s64 %rd20, %rd2, %rd10;")
        say("add.s64 %rd30, %rd20, 4;")
        for (k = 1; k < 8; k++) {
            say("mov.u32 %r5, 0;")
            say("mov.u64 %rd" 20 + k ", %rd" 19 + k ";")
            say("mov.u64 %rd" 30 + k ", %rd" 29 + k ";")
            label("H" k)
            say("ld.global.u32 %r6, [%rd" 20 + k "];")
            say("st.global.u32 [%rd" 30 + k "+16], %r6;")
            say("add.s64 %rd" 20 + k ", %rd" 20 + k ", 8;")
            say("add.s64 %rd" 30 + k ", %rd" 30 + k ", 8;")
            say("add.u32 %r5, %r5, 1;")
            say("setp.lt.u32 %p1, %r5, %r2;")
            say("@%p1 bra H" k ";")
        }
    } else if (shape == "tall") { # one address in both arms; in one of them after 70 conditions
        say("setp.gt.u32 %p900, %r1, 5;")
        say("@%p900 bra A;")
        for (k = 0; k < 70; k++) {
            say("setp.eq.u32 %p1, %r2, " k ";")
            say("@%p1 bra B" k ";")
            say("add.u32 %r9, %r2, " k ";")
            store(k, 9)
            label("B" k)
        }
        for (arm = 0; arm < 2; arm++) {
            if (arm)
                label("A")
            say("mul.wide.s32 %rd5, %r1, 4;")
            say("add.s64 %rd6, %rd5, %rd2;")
            say("ld.global.u32 %r5, [%rd6+" 400 + 4 * arm "];")
            if (!arm)
                say("bra J;")
        }
        label("J")
        store(1, 5)
    } else if (shape == "points") { # a decided branch to 70 conditions, one after the other
        say("setp.gt.u32 %p900, %r1, 5;")
        say("@%p900 bra OUT;")
        store(1, 2)
        say("@!%p900 bra X;")
        store(2, 3)
        say("bra Z;")
        label("X")
        for (k = 0; k < 70; k++) {
            say("ld.volatile.global.u32 %r9, [%rd2+" 4 * k "];")
            say("setp.eq.u32 %p1, %r9, %r3;")
            say("@%p1 bra B" k ";")
            store(k, 2)
            label("B" k)
        }
        label("Z")
        say("bar.warp.sync -1;")
        store(3, 2)
    } else if (shape == "leaving") { # 300 exits, of which two end alike after a loop that waits
        for (k = 0; k < 300; k++) {
            say("ld.volatile.global.u32 %r9, [%rd2+" 4 * k "];")
            say("setp.eq.u32 %p1, %r9, %r3;")
            say("@%p1 bra R" k ";")
        }
        store(1, 2)
        say("ret;")
        for (k = 0; k < 300; k++) {
            label("R" k)
            if (k < 2) {
                label("W" k)
                say("ld.volatile.global.u32 %r8, [%rd2+" 4 * k "];")
                say("setp.ne.u32 %p2, %r8, 3;")
                say("@%p2 bra W" k ";")
                for (n = 0; n < 9; n++) {
                    say("mad.lo.u32 %r9, %r9, 7, " n ";")
                    store(n, 9)
                }
            } else
                for (n = 0; n < 9; n++) {
                    say("mad.lo.u32 %r9, %r9, " k + n ", " n ";")
                    store(n, 9)
                }
            say("ret;")
        }
    } else if (shape == "within") { # 400 conditions, each in the one before, with a barrier of one lane in each; two ends
        say("mov.u32 %r7, %lanemask_eq;")
        say("setp.gt.u32 %p900, %r1, 5;")
        say("@%p900 bra OUT;")
        store(1, 2)
        say("@!%p900 bra Y;")
        store(2, 3)
        say("bra OUT;")
        label("Y")
        for (k = 0; k < 400; k++) {
            say("ld.volatile.global.u32 %r9, [%rd2+" 4 * k "];")
            say("setp.eq.u32 %p1, %r9, %r3;")
            say("@%p1 bra N" k ";")
            say("bar.warp.sync %r7;")
        }
        say("setp.eq.u32 %p1, %r9, 77;")
        say("@%p1 bra OUT2;")
        for (k = 399; k >= 0; k--) {
            store(k, 2)
            label("N" k)
        }
        store(1, 3)
        say("ret;")
        label("OUT2")
        store(2, 2)
        say("ret;")
    }
    label("OUT")
    say("ret;")
    print "}"
}
