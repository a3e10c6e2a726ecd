extension OptionTable {
    /// Parses the arguments after the command's name.
    ///
    /// `--help` ends parsing: nothing after it is read, and no operand is required.
    public func parse(_ arguments: [String]) throws(UsageError) -> ParsedOptions {
        var values: [String: [String]] = [:]
        var found: [String] = []
        for event in Getopt.scan(arguments, for: options) {
            switch event {
            case .option(let index, let text):
                let option = options[index]
                if option.name == Option.help.name {
                    return ParsedOptions(table: self, values: [option.name: [""]], operands: [])
                }
                switch option.argument {
                case .file where text.isEmpty: throw missingArgument(of: option)
                case .required where values[option.name] != nil, .file where values[option.name] != nil:
                    throw error("--\(option.name) was given twice; give it once")
                case .none, .required, .file, .repeated: values[option.name, default: []].append(text)
                }
            case .operand(let text):
                found.append(text)
            case .missingArgument(let index):
                throw missingArgument(of: options[index])
            case .unwantedArgument(let index):
                throw error("--\(options[index].name) is a flag and takes no value; leave the value away")
            case .unknown(let text):
                throw unknown(text)
            }
        }
        try check(found)
        return ParsedOptions(table: self, values: values, operands: found)
    }

    private func missingArgument(of option: Option) -> UsageError {
        switch option.argument {
        case .none: error("--\(option.name) takes no value")
        case .required(let placeholder), .file(let placeholder), .repeated(let placeholder):
            error("--\(option.name) needs a value: --\(option.name) \(placeholder)")
        }
    }

    /// The error for an unknown option or an ambiguous abbreviation.
    private func unknown(_ text: String) -> UsageError {
        let stem = text.hasPrefix("--") ? text.dropFirst(2).prefix { $0 != "=" } : ""
        let meant = stem.isEmpty ? [] : options.filter { $0.name.hasPrefix(stem) }
        if meant.count > 1 {
            let names = meant.map { "--\($0.name)" }.joined(separator: " or ")
            return error("'--\(stem)' may mean \(names); write out the one that is meant")
        }
        let shown = text.hasPrefix("--") ? "--\(stem)" : text
        return error("there is no option '\(shown)'; '\(command) --help' lists the options")
    }

    private func check(_ found: [String]) throws(UsageError) {
        for (position, operand) in operands.enumerated() {
            switch operand {
            case .required(let name), .rest(let name):
                if position >= found.count { throw error("\(name) is missing; usage: \(usage)") }
            case .optional: break
            case .any: return
            }
            if case .rest = operand { return }
        }
        if found.count > operands.count {
            throw error("there is nothing to do with '\(found[operands.count])'; usage: \(usage)")
        }
    }
}
