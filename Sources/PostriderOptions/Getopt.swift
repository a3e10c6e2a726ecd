import CPostriderGetopt
import Glibc
import Synchronization

/// A safe interface to the C library's `getopt_long`: it takes a whole command line and returns a list of events.
///
/// `getopt_long` keeps its state in global variables, so a lock ensures that only one scan runs at a time.
enum Getopt {
    enum Event: Equatable {
        /// The option at this index of the table, with its value ("" for a flag).
        case option(Int, String)
        /// An operand: a word that is not an option.
        case operand(String)
        /// The option at this index is the last word of the line and lacks its value.
        case missingArgument(Int)
        /// The flag at this index has a value.
        case unwantedArgument(Int)
        /// An unknown option, or an ambiguous abbreviation, as the user wrote it.
        case unknown(String)
    }

    private static let turn = Mutex(())

    /// Returns what `getopt_long` finds in `arguments`, in order, up to the first error.
    static func scan(_ arguments: [String], for options: [Option]) -> [Event] {
        turn.withLock { _ in
            // argv and the names must outlive the scan; both are copies, which are freed at its end.
            var vector = unsafe ([""] + arguments).map { unsafe strdup($0) } + [nil]
            let names = unsafe options.map { unsafe strdup($0.name) }
            defer { unsafe (vector + names).forEach { unsafe free($0) } }
            var table: [option] = unsafe []
            for (index, option) in options.enumerated() {
                let wantsArgument = option.argument == .none ? no_argument : required_argument
                let name = unsafe UnsafePointer(names[index])
                unsafe table.append(
                    .init(name: name, has_arg: wantsArgument, flag: nil, val: base + Int32(index)))
            }
            unsafe table.append(.init())
            return unsafe scan(&vector, letters: letters(of: options), table: table, options: options)
        }
    }

    /// The value that `getopt_long` returns for the table's first option. It is greater than every letter, so that
    /// long and short options can be distinguished.
    private static let base: Int32 = 256
    /// The value that `getopt_long` returns for an operand if the short options begin with `-`.
    private static let operand: Int32 = 1

    /// The short options in the form that `getopt` wants. `-` makes operands appear in order and disables the
    /// environment variable; `:` distinguishes a missing value from an unknown option.
    private static func letters(of options: [Option]) -> String {
        options.reduce(into: "-:") { letters, option in
            guard let short = option.short else { return }
            letters += option.argument == .none ? "\(short)" : "\(short):"
        }
    }

    private static func scan(
        _ vector: inout [UnsafeMutablePointer<CChar>?], letters: String, table: [option], options: [Option]
    ) -> [Event] {
        let count = unsafe Int32(vector.count - 1)
        var events: [Event] = []
        postrider_getopt_reset()
        while true {
            let code = unsafe getopt_long(count, &vector, letters, table, nil)
            let argument = unsafe postrider_getopt_argument().map { unsafe String(cString: $0) } ?? ""
            switch code {
            case -1:
                let rest = unsafe vector[Int(postrider_getopt_index())..<Int(count)]
                return unsafe events + rest.map { unsafe .operand(text($0)) }
            case operand:
                events.append(.operand(argument))
            case Int32(UInt8(ascii: ":")):
                return events + [.missingArgument(index(of: postrider_getopt_refused(), in: options))]
            case Int32(UInt8(ascii: "?")):
                let refused = postrider_getopt_refused()
                if refused >= base { return events + [.unwantedArgument(Int(refused - base))] }
                let word = unsafe text(vector[Int(postrider_getopt_index() - 1)])
                return events + [.unknown(refused == 0 ? word : letter(refused))]
            default:
                events.append(.option(index(of: code, in: options), argument))
            }
        }
    }

    /// The table's index of the value that `getopt_long` returns for an option: its number or its letter.
    private static func index(of code: Int32, in options: [Option]) -> Int {
        if code >= base { return Int(code - base) }
        guard let index = options.firstIndex(where: { $0.short?.asciiValue.map(Int32.init) == code }) else {
            preconditionFailure("getopt_long knows an option \(code) that the table does not")
        }
        return index
    }

    /// A refused short option as the user wrote it. For a character that is not ASCII, `getopt_long` reports only one
    /// byte.
    private static func letter(_ code: Int32) -> String {
        guard let byte = UInt8(exactly: code), byte < 0x80 else { return "-?" }
        return "-\(UnicodeScalar(byte))"
    }

    private static func text(_ pointer: UnsafeMutablePointer<CChar>?) -> String {
        unsafe pointer.map { unsafe String(cString: $0) } ?? ""
    }
}
