/// Why a call failed; the numbers are those of `mote_status` in C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status(pub u32);

impl Status {
    /// The next row of the input, or the next frame of a stream, is needed.
    pub const WAITING: Status = Status(5);
    /// The saved state is damaged, or not one of this model.
    pub const BAD_STATE: Status = Status(7);
    /// A constant in flash is not what it was when the model was compiled.
    pub const DAMAGED: Status = Status(8);
    /// An accelerator failed: the outputs mean nothing.
    pub const FAILED: Status = Status(12);
}

const BUSY: u32 = 4;

fn checked(status: u32) -> Result<(), Status> {
    if status == 0 { Ok(()) } else { Err(Status(status)) }
}
