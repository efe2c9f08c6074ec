// RUN: hova-opt %s --hova-verify-launch-order --split-input-file --verify-diagnostics
// SPDX-License-Identifier: Apache-2.0

module attributes {hova_cuda.gpu = "sm_90a"} {
  llvm.func @takes_waits_on_both_ways(%x: !llvm.ptr<1>, %w: !llvm.ptr<1>, %y: !llvm.ptr<1>, %s: !llvm.ptr<3>, %c: i1)
      attributes {hova_cuda.settled = array<i64: 1>, nvvm.kernel} {
    %p = llvm.getelementptr %w[4] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    %q = llvm.select %c, %p, %w : i1, !llvm.ptr<1>
    %a = llvm.load %q : !llvm.ptr<1> -> f32
    nvvm.cp.async.shared.global %s, %q, 4, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
    llvm.store %a, %s : f32, !llvm.ptr<3>
    llvm.cond_br %c, ^one, ^other
  ^one:
    hova_cuda.await_launches
    llvm.br ^both
  ^other:
    hova_cuda.await_launches
    llvm.br ^both
  ^both:
    %b = llvm.load %x : !llvm.ptr<1> -> f32
    llvm.store %b, %y : f32, !llvm.ptr<1>
    llvm.return
  }
  // A loop whose first turn waits.
  llvm.func @takes_a_wait_in_front_of_a_loop(%x: !llvm.ptr<1>, %c: i1) attributes {hova_cuda.settled = array<i64>, nvvm.kernel} {
    hova_cuda.await_launches
    llvm.br ^again(%x : !llvm.ptr<1>)
  ^again(%p: !llvm.ptr<1>):
    %a = llvm.load %p : !llvm.ptr<1> -> f32
    %q = llvm.getelementptr %p[4] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    llvm.cond_br %c, ^again(%q : !llvm.ptr<1>), ^end
  ^end:
    llvm.return
  }
  llvm.func @takes_kernels_that_begin_after_others(%x: !llvm.ptr<1>) attributes {nvvm.kernel} {
    %a = llvm.load %x : !llvm.ptr<1> -> f32
    llvm.return
  }
}

// -----

module attributes {hova_cuda.gpu = "sm_90a"} {
  llvm.func @refuses_a_way_around_the_wait(%x: !llvm.ptr<1>, %c: i1) attributes {hova_cuda.settled = array<i64>, nvvm.kernel} {
    llvm.cond_br %c, ^one, ^both
  ^one:
    hova_cuda.await_launches
    llvm.br ^both
  ^both:
    // expected-error@+1 {{'llvm.load' op is reached on a path without 'hova_cuda.await_launches', and launches before it may still touch what it touches}}
    %b = llvm.load %x : !llvm.ptr<1> -> f32
    llvm.return
  }
}

// -----

module attributes {hova_cuda.gpu = "sm_90a"} {
  llvm.func @refuses_an_end_without_a_wait(%x: !llvm.ptr<1>, %c: i1) attributes {hova_cuda.settled = array<i64>, nvvm.kernel} {
    llvm.cond_br %c, ^one, ^other
  ^one:
    hova_cuda.await_launches
    %b = llvm.load %x : !llvm.ptr<1> -> f32
    llvm.return
  ^other:
    // expected-error@+1 {{'llvm.return' op is reached on a path without 'hova_cuda.await_launches'}}
    llvm.return
  }
}

// -----

module attributes {hova_cuda.gpu = "sm_90a"} {
  llvm.func @refuses_what_may_be_another_matrix(%x: !llvm.ptr<1>, %w: !llvm.ptr<1>, %c: i1) attributes {hova_cuda.settled = array<i64: 1>, nvvm.kernel} {
    llvm.cond_br %c, ^next(%x : !llvm.ptr<1>), ^next(%w : !llvm.ptr<1>)
  ^next(%p: !llvm.ptr<1>):
    // expected-error@+1 {{is reached on a path without}}
    %b = llvm.load %p : !llvm.ptr<1> -> f32
    hova_cuda.await_launches
    llvm.return
  }
}

// -----

module attributes {hova_cuda.gpu = "sm_90a"} {
  llvm.func @refuses_a_copy(%x: !llvm.ptr<1>, %s: !llvm.ptr<3>) attributes {hova_cuda.settled = array<i64>, nvvm.kernel} {
    // expected-error@+1 {{'nvvm.cp.async.shared.global' op is reached on a path without}}
    nvvm.cp.async.shared.global %s, %x, 4, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
    hova_cuda.await_launches
    llvm.return
  }
}

// -----

module attributes {hova_cuda.gpu = "sm_90a"} {
  llvm.func @refuses_a_store_before_the_wait(%x: !llvm.ptr<1>, %f: f32) attributes {hova_cuda.settled = array<i64>, nvvm.kernel} {
    // expected-error@+1 {{'llvm.store' op is reached on a path without}}
    llvm.store %f, %x : f32, !llvm.ptr<1>
    hova_cuda.await_launches
    llvm.return
  }
}

// -----

module attributes {hova_cuda.gpu = "sm_90a"} {
  llvm.func @refuses_a_store_to_what_is_settled(%w: !llvm.ptr<1>, %f: f32) attributes {hova_cuda.settled = array<i64: 0>, nvvm.kernel} {
    hova_cuda.await_launches
    // expected-error@+1 {{'llvm.store' op writes a matrix that is settled}}
    llvm.store %f, %w : f32, !llvm.ptr<1>
    llvm.return
  }
}

// -----

module attributes {hova_cuda.gpu = "sm_90a"} {
  llvm.func @refuses_a_wait_of_a_kernel_that_says_nothing() attributes {nvvm.kernel} {
    // expected-error@+1 {{'hova_cuda.await_launches' op expects its kernel to say what is settled, by 'hova_cuda.settled'}}
    hova_cuda.await_launches
    llvm.return
  }
}

// -----

module attributes {hova_cuda.gpu = "sm_89"} {
  // expected-error@+1 {{'llvm.func' op has 'hova_cuda.settled', and launches on sm_89 begin one after the other}}
  llvm.func @refuses_other_levels() attributes {hova_cuda.settled = array<i64>, nvvm.kernel} {
    hova_cuda.await_launches
    llvm.return
  }
}

// -----

// expected-error@+1 {{'llvm.func' op expects 'hova_cuda.settled' on a function, numbers of its arguments in order, got array<i64: 1>}}
llvm.func @refuses_numbers_of_no_argument(%x: !llvm.ptr<1>) attributes {hova_cuda.settled = array<i64: 1>} {
  llvm.return
}
