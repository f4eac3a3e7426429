"""A small machine that boots Debian's Linux 6.1 in qemu, in virtual time: no root, no KVM.

With `-icount sleep=off` an instruction takes 2 ns of virtual time, and an idle guest skips to its next timer. So the load of the host does not disturb
the clock of the guest, and waiting takes no time.
"""

import lzma
import os
import pathlib
import re
import shutil
import subprocess
import sys

INIT = pathlib.Path(__file__).resolve().parent / "guest-init"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "headway" / "kernel"
# Programs that the host needs, with their Debian packages.
PROGRAMS = {"qemu-system-x86_64": "qemu-system-x86", "busybox": "busybox-static", "cpio": "cpio", "modprobe": "kmod", "depmod": "kmod",
            "dpkg-deb": "dpkg", "ldd": "libc-bin"}
# For the guest's folder /out.
MODULES = ["virtio_pci", "9pnet_virtio", "9p"]
# Each option saves work of the emulated processor, and none affects the network: no zeroing of new pages, no security module, no
# `rep movsb` (features 112, 297 and 580), which qemu executes one byte at a time.
SPARE = ("init_on_alloc=0 apparmor=0 audit=0 randomize_kstack_offset=0 hardened_usercopy=off nmi_watchdog=0 clearcpuid=112,297,580 "
         "mitigations=off nokaslr no_timer_check random.trust_cpu=on tsc=reliable")


def find(program):
    """Returns the path of a program. Also searches /usr/sbin and /sbin, which may not be in the PATH."""
    return shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


def check(programs):
    """Exits with the packages that are missing on this machine. `programs` are needed in addition to PROGRAMS: {program: Debian package}."""
    missing = {package for program, package in (PROGRAMS | programs).items() if not find(program)}
    if missing:
        sys.exit(f"required programs are missing: apt-get install --no-install-recommends {' '.join(sorted(missing))}")


def arguments(parser):
    """Adds the options of a guest to a parser."""
    parser.add_argument("--cache", type=pathlib.Path, default=CACHE, help=f"folder of the kernel (default {CACHE})")
    parser.add_argument("--kernel", type=pathlib.Path, help="kernel package to use instead of the one that apt fetches")
    parser.add_argument("--limit", type=int, default=1800, help="seconds after which the guest is ended (default 1800)")


def kernel(cache, package):
    """Unpacks the kernel, which is fetched once unless a package is given. Returns (ELF file, folder that contains lib/modules, version)."""
    cache.mkdir(parents=True, exist_ok=True)
    unpacked = cache / "unpacked"
    if package and not package.is_file():
        sys.exit(f"the kernel package {package} does not exist: expected Debian 12's linux-image-6.1.0-*-amd64, a .deb file")
    if package or not list(unpacked.glob("boot/vmlinuz-*")):
        shutil.rmtree(unpacked, ignore_errors=True)
        unpacked.mkdir(parents=True)
        subprocess.run(["dpkg-deb", "-x", package or fetch(cache), unpacked], check=True)
    compressed = next(unpacked.glob("boot/vmlinuz-*"), None)
    if compressed is None:
        sys.exit(f"{package} has no boot/vmlinuz-*: expected Debian 12's linux-image-6.1.0-*-amd64")
    version = compressed.name.removeprefix("vmlinuz-")
    modules = unpacked / "lib" / "modules" / version
    if not (modules / "modules.dep").exists():
        subprocess.run([find("depmod"), "-b", unpacked, version], check=True, stderr=subprocess.DEVNULL)
    elf = unpacked / "vmlinux"
    if not elf.exists():
        # Unpacking takes a second on the host, and ten in the guest.
        data = compressed.read_bytes()
        elf.write_bytes(lzma.LZMADecompressor().decompress(data[data.index(b"\xfd7zXZ\0"):]))
    return elf, unpacked, version


def fetch(cache):
    """Fetches Debian's kernel with apt into the cache (70 MB) and returns its path."""
    depends = subprocess.run(["apt-cache", "depends", "linux-image-amd64"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"linux-image-6\.1\.\S+-amd64", depends)
    if not found:
        sys.exit("apt has no linux-image-6.1.*-amd64, which is in Debian 12: specify such a package with --kernel FILE")
    print(f"fetching {found[0]}", file=sys.stderr)
    subprocess.run(["apt-get", "download", found[0]], cwd=cache, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return max(cache.glob(f"{found[0]}_*.deb"), key=lambda package: package.stat().st_mtime)


def install(program, root, name):
    """Copies a program into the guest, with the shared libraries that it is linked with."""
    target = root / name
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(program, target)
    linked = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    for library in re.findall(r"(/\S+)", linked):
        place = root / library.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        if not place.exists():
            shutil.copy(library, place)


def image(scratch, kernel, script, modules, programs, files):
    """Makes the archive of the guest's files: busybox, programs of the host, modules of the kernel, and further files by their paths.
    Modules are loaded in this order, each after its dependencies. The first shell of the guest runs `script`."""
    _, unpacked, version = kernel
    root = scratch / "root"
    for folder in ("bin", "sbin", "proc", "sys", "dev", "results", "out", "modules", "lab", "etc"):
        (root / folder).mkdir(parents=True)
    install(find("busybox"), root, "bin/busybox")
    for name in programs:
        install(find(name), root, f"sbin/{name}")
    (root / "etc/passwd").write_text("root:x:0:0::/:/bin/sh\ntcpdump:x:0:0::/:/bin/sh\n")
    (root / "etc/group").write_text("root:x:0:\ntcpdump:x:0:\n")
    for place, path in files.items():
        install(path, root, place)
    shutil.copy(script, root / "lab/script")
    shutil.copy(INIT, root / "init")
    (root / "init").chmod(0o755)
    order = []
    for module in MODULES + modules:
        shown = subprocess.run([find("modprobe"), "-d", unpacked, "-S", version, "--show-depends", module], capture_output=True, text=True,
                               check=False)
        if shown.returncode:
            sys.exit(f"Linux {version} has no module {module}: specify Debian 12's linux-image-6.1.0-*-amd64 with --kernel")
        for path in re.findall(r"^insmod (\S+)", shown.stdout, re.MULTILINE):
            name = pathlib.Path(path).name
            if name not in order:
                order.append(name)
                shutil.copy(path, root / "modules" / name)
    (root / "modules/order").write_text("\n".join(order))
    names = "\n".join(str(path.relative_to(root)) for path in sorted(root.rglob("*")))
    archive = scratch / "guest.cpio"
    with archive.open("wb") as output:
        subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], cwd=root, input=names.encode(), stdout=output, check=True)
    return archive


def boot(kernel, archive, out, limit, progress):
    """Runs the guest until it is done. `out` is its /out, and gets the file `console`. Calls `progress` with each line of the console."""
    (out / "done").unlink(missing_ok=True)
    command = ["qemu-system-x86_64", "-accel", "tcg", "-machine", "q35,hpet=off", "-cpu", "max", "-smp", "1", "-m", "768",
               "-icount", "shift=1,sleep=off", "-rtc", "clock=vm", "-nodefaults", "-display", "none", "-no-reboot", "-serial", "stdio",
               "-kernel", kernel[0], "-initrd", archive, "-append", f"console=ttyS0 quiet panic=-1 {SPARE}",
               "-fsdev", f"local,id=o,path={out},security_model=none", "-device", "virtio-9p-pci,fsdev=o,mount_tag=out"]
    log = []
    # `timeout` ends a guest that never ends, by the clock of the host. With --foreground it makes no separate process group, so that
    # a signal that ends this command also ends the guest.
    with subprocess.Popen(["timeout", "--foreground", "-k", "5", str(limit), *command], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace") as machine:
        for line in machine.stdout:
            log.append(line.rstrip())
            progress(log[-1])
    (out / "console").write_text("\n".join(log))
    if not (out / "done").exists():
        sys.exit("\n".join(["the guest ended without results:", *log[-20:]]))
