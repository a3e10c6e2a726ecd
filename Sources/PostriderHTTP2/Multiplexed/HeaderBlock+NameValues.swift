import CPostriderNghttp2

extension HeaderBlock {
    /// Calls `body` with the block as an array of `nghttp2_nv`. The library copies what it needs before it returns.
    func withNameValues<Result>(_ body: (UnsafePointer<nghttp2_nv>?, Int) -> Result) -> Result {
        unsafe bytes.room.withUnsafeBufferPointer { all in
            guard let base = unsafe UnsafeMutablePointer(mutating: all.baseAddress) else {
                return body(nil, 0)
            }
            return unsafe withUnsafeTemporaryAllocation(of: nghttp2_nv.self, capacity: fields.count) {
                pairs in
                for (index, field) in fields.enumerated() {
                    let flags = field.isIndexed ? NGHTTP2_NV_FLAG_NONE : NGHTTP2_NV_FLAG_NO_INDEX
                    let pair = unsafe nghttp2_nv(
                        name: base + Int(field.start),
                        value: base + Int(field.nameEnd),
                        namelen: Int(field.nameEnd - field.start),
                        valuelen: Int(field.valueEnd - field.nameEnd),
                        flags: UInt8(flags.rawValue))
                    unsafe (pairs.baseAddress.unsafelyUnwrapped + index).initialize(to: pair)
                }
                return unsafe body(UnsafePointer(pairs.baseAddress), fields.count)
            }
        }
    }
}
