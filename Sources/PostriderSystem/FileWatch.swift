internal import CPostriderSystem
internal import Glibc
public import PostriderTransport

/// Reports when a file is replaced, written or removed (inotify). It watches the directory, because a file that
/// replaces another has a new inode. It lives as long as its loop.
final class FileWatch: EventSource {
    private let descriptor: Descriptor
    private let name: String
    private let changed: () -> Void
    /// The buffer of one read. An event has 16 bytes and a name of up to 256.
    private var buffer = [UInt8](repeating: 0, count: 4096)

    private static let nameOffset = 16
    private static let events = UInt32(IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_MOVED_FROM)

    init(directory: String, name: String, changed: @escaping () -> Void) throws(SystemError) {
        let made = systemCall("inotify_init1") { Int(inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))) }
        descriptor = Descriptor(owning: Int32(try made.get()))
        self.name = name
        self.changed = changed
        let number = descriptor.number
        _ = try systemCall("inotify_add_watch") {
            unsafe Int(inotify_add_watch(number, directory, Self.events))
        }.get()
    }

    var number: Int32 { descriptor.number }

    /// Reports the file once, however many of the events are about it.
    func ready(_ readiness: Readiness) {
        var isChanged = false
        while case .done(let count) = systemCall(
            "read", { unsafe read(descriptor.number, &buffer, buffer.count) }),
            count > 0
        {
            isChanged = names(in: buffer[..<count]).contains { $0 == name } || isChanged
        }
        if isChanged { changed() }
    }

    func loopStopped() {}

    /// Reads the name of each `struct inotify_event`. An event of the directory itself has no name.
    private func names(in bytes: ArraySlice<UInt8>) -> [String] {
        var (names, rest): ([String], ArraySlice<UInt8>) = ([], bytes)
        while rest.count >= Self.nameOffset {
            let lengthBytes = rest.dropFirst(12).prefix(4)
            let length = lengthBytes.reversed().reduce(0) { $0 << 8 | Int($1) }
            let name = rest.dropFirst(Self.nameOffset).prefix(length).prefix { $0 != 0 }
            names.append(String(decoding: name, as: UTF8.self))
            rest = rest.dropFirst(Self.nameOffset + length)
        }
        return names
    }
}

extension EventLoop {
    /// Calls `changed` whenever a file of the directory is created, replaced, written or removed, for as long as the
    /// loop lives.
    public func watch(
        directory: String, for name: String, changed: @escaping () -> Void
    ) throws(TransportError) {
        do {
            let source = try FileWatch(directory: directory, name: name, changed: changed)
            try watch(source.number, readableFor: source)
        } catch {
            throw TransportError("Cannot watch \(directory)/\(name): \(error.text).")
        }
    }
}
