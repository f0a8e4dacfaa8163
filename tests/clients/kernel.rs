// As rustc compiles a kernel, without its library, which is not there for this target everywhere.
#![feature(no_core, lang_items, abi_ptx)]
#![allow(internal_features)]
#![no_core]
#![crate_type = "lib"]

#[lang = "pointee_sized"]
pub trait PointeeSized {}
#[lang = "meta_sized"]
pub trait MetaSized: PointeeSized {}
#[lang = "sized"]
pub trait Sized: MetaSized {}
#[lang = "copy"]
pub trait Copy {}
impl Copy for i32 {}
impl<T> Copy for *mut T {}

#[no_mangle]
pub unsafe extern "ptx-kernel" fn k(p: *mut i32, q: *mut i32, n: i32) {
    match n {
        3 => { *p = n; *q = 7; *p = 9 }
        8 => { *q = 5; *p = n; *q = 7; *p = 9 }
        _ => { *q = n; *p = 7 }
    }
}
