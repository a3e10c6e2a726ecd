import Foundation

/// Rules about single Swift files.
enum CodeRules {
    /// The only modules that use pointers: those that own a C library, and the folder that drives libFuzzer.
    static let owners: Set = [
        "CallbackSender", "Crypto", "DBus", "Driver", "FileTrust", "HTTP1", "HTTP2", "Journal", "Options",
        "Postgres", "Programs", "Storage", "System", "TLS",
        "Transport",
        "YAML",
    ]

    /// The only files that may promise the compiler something that it cannot check, each with the reason.
    static let promisers = [
        "Sources/PostriderCrypto/Keys/Key.swift":
            "an EVP_PKEY is not changed once it is made, and counts its references atomically",
        "Sources/PostriderCrypto/SHA256.swift": "an EVP_MD that was fetched is constant",
        "Sources/PostriderTLS/Policy/TLSContext.swift":
            "an SSL_CTX that is set up is used by all threads, as OpenSSL allows",
        "Sources/PostriderHTTP1/HTTP1Server.swift":
            "a daemon of libmicrohttpd has a thread of its own, and any other may stop it, once",
        "Sources/PostriderCallbackSender/CurlTransfers.swift":
            "one thread uses the CURLM, and any other may wake it, as libcurl allows",
        "Sources/PostriderTransport/Connections/DetachedConnection.swift":
            "a connection on its way between two loops is held by neither; the mailbox orders the hand-over",
    ]

    static let legibility: Rule = { file in
        file.code.brokenLine.map {
            [Finding(file, line: $0, "a literal or comment is not closed")]
        } ?? []
    }

    static let fileLength: Rule = { file in
        // The manifest has one line for each target.
        let most = file.path == "Package.swift" ? 360 : 300
        guard file.lines.count > most else { return [] }
        return [Finding(file, "is \(file.lines.count) lines long; split it by idea, \(most) is the most")]
    }

    /// The formatter breaks code at column 110 and does not change comments; comments may be somewhat wider.
    static let lineLength: Rule = { file in
        zip(1..., file.lines).compactMap { number, line in
            let isComment = line.drop { $0 == " " }.hasPrefix("//")
            let most = isComment ? 120 : 110
            return line.count > most ? Finding(file, line: number, "ends after column \(most)") : nil
        }
    }

    static let functionLength: Rule = { file in
        let lines = file.code.lines
        return lines.indices.compactMap { first in
            guard declaresFunction(lines[first]), let last = lastLine(ofFunctionAt: first, in: lines) else {
                return nil
            }
            let length = last - first + 1
            guard length > 70 else { return nil }
            return Finding(file, line: first + 1, "a function is \(length) lines long; 70 is the most")
        }
    }

    static let courage: Rule = { file in
        occurrences(
            of: #"\btry!|\bas!|\bfatalError\b"#, in: file, "crashes on what a typed error should tell")
    }

    static let pointers: Rule = { file in
        guard !owners.contains(file.subject ?? "") else { return [] }
        return occurrences(
            of: #"\bunsafe\b|Unsafe|\bUnmanaged\b|\bOpaquePointer\b"#, in: file,
            "only the owners of C modules touch pointers"
        )
    }

    static let sendability: Rule = { file in
        let findings = occurrences(
            of: #"@unchecked\s+Sendable|nonisolated\(unsafe\)"#, in: file,
            "promises what the compiler cannot check; find another way or give the reason in CodeRules"
        )
        guard promisers[file.path] != nil else { return findings }
        return findings.isEmpty ? [Finding(file, "needs no place in the list of CodeRules any more")] : []
    }

    static let children: Rule = { file in
        occurrences(
            of: #"\bProcess\(\)|\bProcess\.run\(|\bavailableData\b"#, in: file,
            "uses what can end a busy process in Foundation; ChildProgram says why, and is there instead")
    }

    static let names: Rule = { file in
        let vague = #"Util(s|ity|ities)?(?![a-z])|Helper|Manager|Common|Impl(?![a-z])"#
        let inPath = file.path.range(of: vague, options: .regularExpression) != nil
        let declaration = #"\b(struct|class|enum|actor|protocol|typealias)\s+\w*("# + vague + ")"
        return (inPath ? [Finding(file, "has a name that says nothing")] : [])
            + occurrences(of: declaration, in: file, "a type has a name that says nothing")
    }

    static let all: [(name: String, rule: Rule)] = [
        ("can be read by these rules", legibility), ("has at most 300 lines", fileLength),
        ("has lines of at most 110 columns", lineLength),
        ("has functions of at most 70 lines", functionLength),
        ("throws instead of crashing", courage), ("leaves pointers to the owners of C modules", pointers),
        ("promises no sendability in secret", sendability), ("has names that say something", names),
        ("starts programs without Foundation", children),
    ]

    private static func declaresFunction(_ line: String) -> Bool {
        let declaration = #"(^|\s)(func\s+\S|init[?!]?\s*[(<]|deinit\s*\{|subscript\s*[(<])"#
        return line.range(of: declaration, options: .regularExpression) != nil
    }

    /// Returns the line of the brace that closes the function's body; nil if it has no body, as in a protocol.
    private static func lastLine(ofFunctionAt first: Int, in lines: [String]) -> Int? {
        var parentheses = 0
        var braces = 0
        for index in first..<lines.count {
            let line = lines[index].trimmingCharacters(in: .whitespaces)
            let goesOn = parentheses > 0 || braces > 0 || line.isEmpty
            let continues = ["{", "->", "where", "throws", "async", ")"].contains { line.hasPrefix($0) }
            guard index == first || goesOn || continues else { return nil }
            for character in line {
                switch character {
                case "(": parentheses += 1
                case ")": parentheses -= 1
                case "{" where parentheses == 0 || braces > 0: braces += 1
                case "}" where braces > 0:
                    braces -= 1
                    if braces == 0 { return index }
                default: break
                }
            }
        }
        return nil
    }
}
