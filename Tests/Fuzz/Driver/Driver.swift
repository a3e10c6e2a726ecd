import CFuzzer
import Glibc

/// Runs libFuzzer on the target in `POSTRIDER_FUZZ_TARGET`; `run.sh` starts it.
@main
struct Driver {
    static let target: FuzzTarget = {
        let name = unsafe getenv("POSTRIDER_FUZZ_TARGET").map { unsafe String(cString: $0) }
        guard let target = FuzzTarget.all.first(where: { $0.name == name }) else {
            let names = FuzzTarget.all.map(\.name).joined(separator: ", ")
            print("fuzz: set POSTRIDER_FUZZ_TARGET to one of \(names)")
            exit(2)
        }
        return target
    }()

    static func main() {
        if CommandLine.arguments.dropFirst().first == "--targets" {
            for target in FuzzTarget.all { print(target.name, target.longestInput) }
            return
        }
        _ = target
        var count = CommandLine.argc
        var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = unsafe CommandLine.unsafeArgv
        exit(unsafe LLVMFuzzerRunDriver(&count, &arguments, feed))
    }
}

/// Runs one input. libFuzzer's own `main`, which is linked and never called, needs a function of this name.
@c(LLVMFuzzerTestOneInput)
func feed(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    do throws(Contradiction) {
        try Driver.target.run(unsafe Array(UnsafeBufferPointer(start: bytes, count: count)))
    } catch {
        preconditionFailure("contradiction: \(error)")
    }
    return 0
}
