// How much a schema may hold, and how much of it the saves of one caller may add.
//
// Asked by `SavePlanner` and `SchemaImport` when a schema grows. What other nodes added is never
// refused: two nodes that don't know of each other may exceed the limits together, and then the
// schema only stops growing.

package import CumulusModel
package import CumulusStorage

/// How much the saves of one caller may still add to schemas.
///
/// The writer asks, and reports what it added.
package protocol SchemaAllowance: Sendable {
    /// Why the caller may not add this much now; nil if it may.
    func refusal(of growth: SchemaSize) -> ServiceError?
    func spend(_ growth: SchemaSize)
}

extension Limits {
    /// Why a schema may not grow to a size; nil if it may.
    ///
    /// A change that makes it larger in no way is no growth.
    func refusal(of size: SchemaSize, over present: SchemaSize) -> ServiceError? {
        let sizes: [(KeyPath<SchemaSize, Int>, KeyPath<Limits, Int>, String, String)] = [
            (\.types, \.typesPerSchema, "typesPerSchema", "record types"),
            (\.fields, \.fieldsPerSchema, "fieldsPerSchema", "fields in all its types"),
            (\.bytes, \.schemaBytes, "schemaBytes", "bytes in the names of its types and fields"),
        ]
        for (part, limit, name, words) in sizes {
            let most = self[keyPath: limit]
            let (new, old) = (size[keyPath: part], present[keyPath: part])
            guard new > most, new > old else { continue }
            return ServiceError(
                .limitExceeded,
                .tooManyItems,
                """
                a schema has at most \(most) \(words); an operator can import one without those \
                that nobody needs, or raise \(name)
                """
            )
        }
        return nil
    }
}
