//! @SUMMARY@.
//!
//! ```no_run
//! use @CRATE@::{Interpreter, Status};
//!
//! /// The image is `Image(*include_bytes!("model.mote")).0`; `Needs::of` tells how much memory it takes.
//! fn infer(image: &[u8], data: &[u8]) -> Result<u8, Status> {
//!     let mut memory = [0u64; 1024];
//!     let mut state = [0u64; 16];
//!     let mut model = Interpreter::new(image, &mut memory, &mut state)?;
//!     model.input(0).unwrap().copy_from_slice(data);
//!     model.invoke()?;
//!     Ok(model.output(0).unwrap()[0])
//! }
//! ```
#![no_std]

use core::ffi::c_void;
use core::marker::PhantomData;

/// Aligns the bytes of an image as the runtime needs it.
#[repr(C, align(8))]
pub struct Image<T>(pub T);

/// Why a call failed; the numbers are those of `mote_status` in C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status(pub u32);

impl Status {
    /// The next row of the input, or the next frame of a stream, is needed.
    pub const WAITING: Status = Status(5);
    /// Memory is missing, too small or not aligned.
    pub const BAD_ARENA: Status = Status(2);
    /// The image is damaged, or no image.
    pub const BAD_IMAGE: Status = Status(9);
    /// The image needs a kernel that the firmware does not have.
    pub const NO_KERNEL: Status = Status(10);
}

fn checked(status: u32) -> Result<(), Status> {
    if status == 0 { Ok(()) } else { Err(Status(status)) }
}

const SIZE: usize = 96;

#[repr(C, align(8))]
struct Raw([u8; SIZE]);

#[repr(C)]
#[derive(Default)]
struct RawNeeds {
    arena: [u32; 4],
    state: u32,
}

extern "C" {
    fn mote_rust_needs(image: *const c_void, bytes: usize, needs: *mut RawNeeds) -> u32;
    fn mote_rust_init(
        it: *mut Raw,
        image: *const c_void,
        bytes: usize,
        arena: *mut c_void,
        arena_bytes: usize,
        state: *mut c_void,
        state_bytes: usize,
    ) -> u32;
    fn mote_rust_invoke(it: *mut Raw) -> u32;
    fn mote_rust_step(it: *mut Raw) -> u32;
    fn mote_rust_push(it: *mut Raw, rows: *const c_void, bytes: usize) -> u32;
    fn mote_rust_reset(it: *mut Raw) -> u32;
    fn mote_rust_port(it: *const Raw, output: u32, index: usize, bytes: *mut usize) -> *mut u8;
}

/// Bytes of memory that an image needs.
#[derive(Clone, Copy, Debug)]
pub struct Needs {
    /// Working memory.
    pub memory: usize,
    /// Memory that is kept from one inference to the next.
    pub state: usize,
}

impl Needs {
    /// The needs of an image.
    pub fn of(image: &[u8]) -> Result<Needs, Status> {
        let mut raw = RawNeeds::default();
        aligned(image)?;
        // The image is only read, and its header is checked.
        checked(unsafe { mote_rust_needs(image.as_ptr().cast(), image.len(), &mut raw) })?;
        if raw.arena[1..] != [0; 3] {
            return Err(Status::BAD_ARENA);
        }
        Ok(Needs { memory: raw.arena[0] as usize, state: raw.state as usize })
    }
}

fn aligned(image: &[u8]) -> Result<(), Status> {
    if image.as_ptr() as usize % 8 == 0 { Ok(()) } else { Err(Status::BAD_IMAGE) }
}

/// A model that runs from an image, in memory of the caller's. Images with several memories are refused.
pub struct Interpreter<'a> {
    raw: Raw,
    borrowed: PhantomData<&'a mut [u64]>,
}

// An interpreter has all its variables in memory that it borrows alone.
unsafe impl Send for Interpreter<'_> {}

impl<'a> Interpreter<'a> {
    /// Checks an image and begins.
    pub fn new(image: &'a [u8], memory: &'a mut [u64], state: &'a mut [u64]) -> Result<Self, Status> {
        Needs::of(image)?;
        let mut raw = Raw([0; SIZE]);
        // Sizes are passed with every pointer; the C keeps them no longer than 'a, and nothing that points into `raw`.
        checked(unsafe {
            mote_rust_init(
                &mut raw,
                image.as_ptr().cast(),
                image.len(),
                memory.as_mut_ptr().cast(),
                memory.len() * 8,
                state.as_mut_ptr().cast(),
                state.len() * 8,
            )
        })?;
        Ok(Interpreter { raw, borrowed: PhantomData })
    }

    /// The bytes of an input; None where there is no such one, or it comes row by row.
    pub fn input(&mut self, index: usize) -> Option<&mut [u8]> {
        let mut bytes = 0;
        let data = unsafe { mote_rust_port(&self.raw, 0, index, &mut bytes) };
        if data.is_null() { None } else { Some(unsafe { core::slice::from_raw_parts_mut(data, bytes) }) }
    }

    /// The bytes of an output.
    pub fn output(&self, index: usize) -> Option<&[u8]> {
        let mut bytes = 0;
        let data = unsafe { mote_rust_port(&self.raw, 1, index, &mut bytes) };
        if data.is_null() { None } else { Some(unsafe { core::slice::from_raw_parts(data, bytes) }) }
    }

    /// One inference. `Err(Status::WAITING)` while a stream has no outputs yet.
    pub fn invoke(&mut self) -> Result<(), Status> {
        checked(unsafe { mote_rust_invoke(&mut self.raw) })
    }

    /// One piece of an inference; `Ok(true)` after the last one.
    pub fn step(&mut self) -> Result<bool, Status> {
        match unsafe { mote_rust_step(&mut self.raw) } {
            4 => Ok(false),
            status => checked(status).map(|()| true),
        }
    }

    /// Passes whole rows of an input that comes row by row.
    pub fn push(&mut self, rows: &[u8]) -> Result<(), Status> {
        checked(unsafe { mote_rust_push(&mut self.raw, rows.as_ptr().cast(), rows.len()) })
    }

    /// Forgets everything, as after `new`.
    pub fn reset(&mut self) -> Result<(), Status> {
        checked(unsafe { mote_rust_reset(&mut self.raw) })
    }
}
