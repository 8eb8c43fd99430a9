//! Compiles the C of this crate with the C compiler for the target, without other crates.
//!
//! The compiler is the first that is set of CC_<target>, TARGET_CC and CC, else the usual one of the target; its flags
//! are those of the core, which CFLAGS_<target>, TARGET_CFLAGS or CFLAGS replace.
use std::env;
use std::path::PathBuf;
use std::process::{Command, Stdio};

const NAME: &str = "@NAME@";
const SOURCES: &[&str] = &[@SOURCES@];
const FLAGS: &[&str] = &[@FLAGS@];
/// The flags of the core that the C was compiled for; none where it is portable.
const CORE: &[&str] = &[@CORE@];

/// Whether Mote measures it with all instructions of the computer that it runs on.
const NATIVE: bool = @NATIVE@;

/// The value of NAME_<target>, TARGET_NAME or NAME, the first that is set.
fn given(name: &str, target: &str) -> Option<String> {
    let own = format!("{}_{}", name, target.replace(['-', '.'], "_"));
    [own, format!("{}_{}", name, target), format!("TARGET_{}", name), name.to_string()].iter().find_map(|variable| {
        println!("cargo:rerun-if-env-changed={}", variable);
        env::var(variable).ok()
    })
}

/// The usual compiler of a target, and the flags of its core.
fn usual(target: &str) -> (&'static str, &'static str, Vec<&'static str>) {
    let arm = |cpu: &'static str| {
        let float = match (cpu, target.ends_with("hf")) {
            (_, false) => vec!["-mfloat-abi=soft"],
            ("-mcpu=cortex-m4", true) => vec!["-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"],
            (_, true) => vec!["-mfloat-abi=hard", "-mfpu=fpv5-sp-d16"],
        };
        let own = CORE.iter().copied().filter(|flag| !flag.starts_with("-mfloat-abi"));
        let core: Vec<_> = if CORE.is_empty() { vec![cpu, "-mthumb"] } else { own.collect() };
        let float = if CORE.is_empty() { float } else { float[..1].to_vec() };
        ("arm-none-eabi-gcc", "arm-none-eabi-ar", [core, float].concat())
    };
    let riscv = |isa: &'static str, abi: &'static str| {
        let core = if CORE.is_empty() { vec![isa, abi] } else { CORE.to_vec() };
        ("riscv64-unknown-elf-gcc", "riscv64-unknown-elf-ar", core)
    };
    match target.split('-').next().unwrap_or("") {
        "thumbv6m" => arm("-mcpu=cortex-m0plus"),
        "thumbv7m" => arm("-mcpu=cortex-m3"),
        "thumbv7em" => arm("-mcpu=cortex-m4"),
        "thumbv8m.base" => arm("-mcpu=cortex-m23"),
        "thumbv8m.main" => arm("-mcpu=cortex-m33"),
        "riscv32i" => riscv("-march=rv32i", "-mabi=ilp32"),
        "riscv32imc" => riscv("-march=rv32imc", "-mabi=ilp32"),
        "riscv32imac" => riscv("-march=rv32imac", "-mabi=ilp32"),
        "riscv32imafc" => riscv("-march=rv32imafc", "-mabi=ilp32f"),
        _ => ("cc", "ar", vec!["-fPIC"]),
    }
}

/// The flags for all instructions of this computer that its compiler knows; no product is fused with a sum.
fn natively(compiler: &str) -> Vec<&'static str> {
    let knows = |flag: &&str| {
        let mut command = Command::new(compiler);
        let tried = command.args([flag, "-E", "-x", "c", "-"]).stdin(Stdio::null()).stdout(Stdio::null());
        tried.stderr(Stdio::null()).status().map_or(false, |status| status.success())
    };
    let flag = ["-march=native", "-mcpu=native"].into_iter().find(knows);
    flag.into_iter().chain(["-ffp-contract=off"]).collect()
}

fn run(command: &mut Command) {
    match command.status() {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("{:?} failed: {}", command, status),
        Err(error) => panic!(
            "{:?} does not start: {}. Install a C compiler for this target, or name one with CC and AR",
            command, error
        ),
    }
}

fn main() {
    let target = env::var("TARGET").expect("cargo sets TARGET");
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets OUT_DIR"));
    let (compiler, archiver, core) = usual(&target);
    let compiler = given("CC", &target).unwrap_or_else(|| compiler.to_string());
    let archiver = given("AR", &target).unwrap_or_else(|| archiver.to_string());
    let flags = given("CFLAGS", &target);
    let here = NATIVE && env::var("HOST").ok().as_deref() == Some(&target);
    let core = if here { [core, natively(&compiler)].concat() } else { core };
    println!("cargo:rerun-if-changed=csrc");
    let library = out.join(format!("lib{}.a", NAME));
    let _ = std::fs::remove_file(&library);
    let mut objects = Vec::new();
    for source in SOURCES {
        let object = out.join(source).with_extension("o");
        let mut command = Command::new(&compiler);
        command.args(["-std=gnu99", "-ffunction-sections", "-fdata-sections"]).args(FLAGS);
        match &flags {
            Some(flags) => command.args(flags.split_whitespace()),
            None => command.args(&core),
        };
        run(command.arg("-Icsrc").arg("-c").arg(format!("csrc/{}", source)).arg("-o").arg(&object));
        objects.push(object);
    }
    run(Command::new(archiver).arg("rcs").arg(&library).args(&objects));
    println!("cargo:rustc-link-search=native={}", out.display());
    println!("cargo:rustc-link-lib=static={}", NAME);
}
