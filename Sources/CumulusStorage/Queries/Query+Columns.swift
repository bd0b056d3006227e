// What each relation of a query requires of its column: the index, as in CloudKit, and the kind.
//
// It is called while a query is checked against the schema.

import CumulusModel

extension Query.Relation {
    var searchesWords: Bool {
        self == .containsAnyToken || self == .containsAllTokens
    }

    var isDistance: Bool { self == .isNearerThan || self == .isAtMostAsFarAs }

    /// Whether the relation asks if a value, or an element, is one of several.
    var isEquality: Bool {
        switch self {
        case .equals, .notEquals, .isIn, .listContains, .listContainsAny: true
        default: false
        }
    }

    /// Whether the relation asks about the elements of a list.
    var wantsList: Bool {
        self == .listContains || self == .listContainsAny || self == .listMemberBeginsWith
    }

    /// The index that CloudKit requires.
    var index: Schema.Indexes {
        switch self {
        case .lessThan, .lessThanOrEquals, .greaterThan, .greaterThanOrEquals, .beginsWith:
            .sortable
        default: .queryable
        }
    }

    /// Whether values of a kind can be compared in this way.
    func compares(_ kind: FieldKind) -> Bool {
        switch self {
        case .equals, .notEquals, .isIn, .listContains, .listContainsAny:
            kind != .location && kind != .asset
        case .lessThan, .lessThanOrEquals, .greaterThan, .greaterThanOrEquals:
            kind != .location && kind != .asset && kind != .reference
        case .beginsWith, .listMemberBeginsWith: kind == .string
        case .isNearerThan, .isAtMostAsFarAs: kind == .location
        case .containsAnyToken, .containsAllTokens, .isNil: false
        }
    }
}

extension FieldKind {
    /// Whether records can be sorted by values of the kind.
    var isSortable: Bool {
        switch self {
        case .string, .int64, .double, .timestamp, .bytes: true
        case .location, .reference, .asset: false
        }
    }
}
