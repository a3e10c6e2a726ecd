import Glibc
import Testing

@testable import PostriderTransport

@Suite("The descriptors of a process")
struct DescriptorsTests {
    @Test(
        "leave the numbers of standard input and output to these, also where they were closed",
        arguments: 1...7)
    func standard(_ closed: Int) async {
        await #expect(processExitsWith: .exitCode(7)) { [closed = closed as Int] in
            for number in 0..<3 where closed & 1 << number != 0 { close(Int32(number)) }
            Descriptors.occupyStandard()
            let isComplete = (0..<3).allSatisfy { fcntl(Int32($0), F_GETFD) >= 0 }
            exit(isComplete && dup(0) > 2 ? 7 : 1)
        }
    }
}
