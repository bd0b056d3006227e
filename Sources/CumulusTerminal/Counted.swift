// Counts as people read them: one record, two records.
//
// Used by every line for people that counts something. JSON has the number alone.

/// "1 record" or "2 records".
///
/// - Parameter plural: nil means the word with an s.
package func counted(
    _ count: some BinaryInteger,
    _ word: String,
    _ plural: String? = nil
) -> String {
    count == 1 ? "1 \(word)" : "\(count) \(plural ?? word + "s")"
}
