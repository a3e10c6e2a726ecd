internal import CPostriderSystem
internal import Glibc
internal import PostriderTransport

/// An unnamed file that becomes a program's standard input. A pipe could not hold all of the input, because its size
/// is limited, and the limit is shared by all pipes of the user.
enum InputFile {
    /// `MFD_CLOEXEC` (memfd_create(2)).
    private static let closeOnExec: UInt32 = 1

    /// Makes a file that holds `bytes`, positioned at its beginning.
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
