internal import CPostriderLinux
internal import Glibc

/// A file without a name, as a program's standard input. A pipe would hold only as much as its reader and the user's
/// other pipes leave it.
enum InputFile {
    /// `MFD_CLOEXEC` (memfd_create(2)).
    private static let closeOnExec: UInt32 = 1

    /// The file, at whose beginning the reader begins.
    static func make(holding bytes: [UInt8]) throws(SystemError) -> Descriptor {
        let made = systemCall("memfd_create") {
            unsafe Int(memfd_create("input", Self.closeOnExec))
        }
        let file = Descriptor(owning: Int32(try made.get()))
        var written = 0
        while written < bytes.count {
            let rest = Array(bytes[written...])
            let count = try systemCall("write") { unsafe write(file.number, rest, rest.count) }.get()
            guard count > 0 else { throw SystemError(number: EIO) }
            written += count
        }
        _ = try systemCall("lseek") { lseek(file.number, 0, SEEK_SET) }.get()
        return file
    }
}
