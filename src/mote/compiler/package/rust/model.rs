/// Memory of the model `@NAME@`: one for each instance.
#[repr(C, align(8))]
pub struct @KIND@ {
    memory: [u8; @BYTES@],
}

extern "C" {
    fn @NAME@_rust_init(model: *mut @KIND@) -> u32;
    fn @NAME@_rust_step(model: *mut @KIND@) -> u32;
    fn @NAME@_rust_check() -> u32;
@DECLARED@
@EXTERNS@
}

impl Default for @KIND@ {
    fn default() -> Self {
        Self::new()
    }
}

impl @KIND@ {
    /// Memory that `init` makes a model of.
    pub const fn new() -> Self {
        @KIND@ { memory: [0; @BYTES@] }
    }

    /// Begins: the model can be run until this borrow ends.
    pub fn init(&mut self) -> Result<@KIND@Model<'_>, Status> {
        // The memory is as large as the C asks for, which the C checks when it is compiled, and aligned.
        checked(unsafe { @NAME@_rust_init(self) })?;
        Ok(@KIND@Model { memory: self })
    }

    /// Compares the constants in flash with the CRC-32 of the compiled model.
    pub fn check() -> Result<(), Status> {
        checked(unsafe { @NAME@_rust_check() })
    }
}

/// The model `@NAME@`, ready to run.
pub struct @KIND@Model<'a> {
    memory: &'a mut @KIND@,
}

impl @KIND@Model<'_> {
@FUNCTIONS@
@RUNNING@
    /// One piece of an inference; `Ok(true)` after the last one.
    pub fn step(&mut self) -> Result<bool, Status> {
        match unsafe { @NAME@_rust_step(self.memory) } {
            BUSY => Ok(false),
            status => checked(status).map(|()| true),
        }
    }
@KEEPING@}

/// Whether memory was made for a model that is used: it holds no pointers, so that it may be moved between threads.
const _: fn() = || {
    fn send<T: Send>() {}
    send::<@KIND@>();
    let _ = |m: &@KIND@| m.memory[0];
};
