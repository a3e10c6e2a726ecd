/// Suggests corrections for misspelt names.
public enum Spelling {
    /// The word of a list that is nearest to a name; nil if none is within `letters` edits and half of its length.
    public static func closest(to name: String, of words: [String], atMost letters: Int = 3) -> String? {
        let near = words.map { (word: $0, distance: distance(from: name, to: $0)) }
            .filter { $0.distance <= Swift.min(letters, $0.word.count / 2) }
        return near.min { $0.distance < $1.distance }?.word
    }

    /// The edit distance between two texts (Levenshtein, 1966).
    private static func distance(from name: String, to other: String) -> Int {
        let letters = Array(other)
        var row = Array(0...letters.count)
        for (done, letter) in name.enumerated() {
            var diagonal = row[0]
            row[0] = done + 1
            for index in letters.indices {
                let exchanged = diagonal + (letters[index] == letter ? 0 : 1)
                diagonal = row[index + 1]
                row[index + 1] = Swift.min(exchanged, diagonal + 1, row[index] + 1)
            }
        }
        return row[letters.count]
    }
}
