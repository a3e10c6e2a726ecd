internal import CPostriderSystem
internal import Glibc
public import PostriderTransport

extension ProgramStart {
    /// Runs the program to its end, in a process group of its own. It blocks the calling thread.
    ///
    /// - Parameter eachLine: called with each line of its standard output as it arrives.
    /// - Throws: `TransportError` if the program cannot be started.
    public func runToEnd(eachLine: (String) -> Void) throws(TransportError) -> ProcessEnding {
        do throws(SystemError) {
            var ends: [Int32] = [-1, -1]
            _ = try systemCall("pipe2") { unsafe Int(pipe2(&ends, O_CLOEXEC)) }.get()
            let output = Descriptor(owning: ends[0])
            let identifier = try spawn(writingTo: Descriptor(owning: ends[1]))
            var (rest, some): ([UInt8], [UInt8]) = ([], [UInt8](repeating: 0, count: 65_536))
            while case .done(let count) = systemCall(
                "read", { unsafe read(output.number, &some, some.count) }),
                count > 0
            {
                rest += some.prefix(count)
                while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                    eachLine(String(decoding: rest[..<end], as: UTF8.self))
                    rest.removeSubrange(...end)
                }
            }
            var status: Int32 = 0
            let waited = systemCall("waitpid") { unsafe Int(waitpid(identifier, &status, 0)) }
            guard case .done(Int(identifier)) = waited else { return .unknown }
            return ProcessEnding(waitStatus: status)
        } catch {
            throw TransportError("Cannot start \(path): \(error.text).")
        }
    }

    private func spawn(writingTo output: consuming Descriptor) throws(SystemError) -> Int32 {
        let opened = systemCall("open") { unsafe Int(open("/dev/null", O_RDONLY | O_CLOEXEC)) }
        let input = Descriptor(owning: Int32(try opened.get()))
        return try spawn(StandardDescriptors(input: input.number, output: output.number))
    }
}
