// What the tests of predicates share: objects as the CloudKit layer has them, and a comparison.

import CumulusFoundation
import CumulusModel
import Foundation
import Testing

/// Stands for the classes of CloudKit that a field can be compared with.
class NamedObject: NSObject, FormatArgument {
    let name: String

    init(_ name: String) {
        self.name = name
    }

    var formatArgument: FieldValue { .reference(.init(recordName: name)) }
}

/// Checks that a predicate says what a format of Cumulus says.
func expect(
    _ predicate: NSPredicate,
    _ format: String,
    sourceLocation: SourceLocation = #_sourceLocation
) throws {
    let expected = try Query.Predicate(format: format)
    let found = try predicate.queryPredicate()
    #expect(found == expected, sourceLocation: sourceLocation)
    let copy = NSPredicate(format: predicate.archivableFormat)
    #expect(try copy.queryPredicate() == expected, sourceLocation: sourceLocation)
}

/// Checks that a query with the predicate fails, and what its error says.
func expectRefusal(
    of predicate: NSPredicate,
    _ part: String,
    sourceLocation: SourceLocation = #_sourceLocation
) {
    let error = #expect(throws: ServiceError.self, sourceLocation: sourceLocation) {
        try predicate.queryPredicate()
    }
    #expect(error?.code == .invalidArguments, sourceLocation: sourceLocation)
    let message = error?.message ?? ""
    #expect(message.contains(part), sourceLocation: sourceLocation)
}
