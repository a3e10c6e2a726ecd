import Foundation
import Testing

@testable import PostriderTransport

@Suite("A descriptor that somebody else owns", .timeLimit(.minutes(10)))
struct ExternalDescriptorTests {
    @Test("is watched for what is wanted, and only then")
    func watching() throws {
        let loop = try EventLoop()
        let pipe = Pipe()
        var count = 0
        let watch = try loop.watch(foreign: pipe.fileHandleForReading.fileDescriptor) { count += 1 }
        pipe.fileHandleForWriting.write(Data([1]))
        loop.turnOnce()
        #expect(count == 0)
        watch.want(.readable)
        while count == 0 { loop.turn() }
        watch.want([])
        let before = count
        loop.turnOnce()
        #expect(count == before)
        watch.want(.readable)
        while count == before { loop.turn() }
    }

    @Test(
        "is watched for its end in any case, and for nothing once the watch has ended"
    )
    func ending() throws {
        let loop = try EventLoop()
        let pipe = Pipe()
        var count = 0
        let watch = try loop.watch(foreign: pipe.fileHandleForReading.fileDescriptor) { count += 1 }
        try pipe.fileHandleForWriting.close()
        while count == 0 { loop.turn() }
        try pipe.fileHandleForReading.close()
        watch.end()
        watch.end()
        watch.want([.readable, .writable])
        let before = count
        loop.turnOnce()
        #expect(count == before)
    }
}

extension EventLoop {
    /// Runs a turn that does not wait.
    fileprivate func turnOnce() {
        let timer = makeTimer {}
        timer.arm(afterMilliseconds: 0)
        turn()
    }
}
