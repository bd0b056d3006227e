// Decides which of two values of a register wins, by one rule for each namespace.
//
// It is asked where a commit is applied and where a state is joined, so the order in which nodes
// hear of changes makes no difference. Read marks of users are joined instead, see `ReadMarks`.

import CumulusModel

enum RegisterRule: Hashable {
    /// The highest stamp wins.
    case newest
    /// The lowest stamp wins; between a removal and a value the highest does.
    case first
    /// The greatest prefix of that many bytes wins, then the highest stamp; it can't be removed.
    case greatest(of: Int)
    /// A removal wins, then the highest stamp.
    case removed

    /// The rule of a namespace, unless a simulation broke it.
    init(of namespace: String, broken: Set<String> = []) {
        if broken.contains(namespace) {
            self = .newest
        } else if namespace == MemberRegister.namespace {
            // A removed member stays removed, even if another node enters it concurrently.
            self = .removed
        } else if SchemaRegister.isFixed(namespace) || namespace == AccountRegister.user
            || namespace == AccountRegister.subject || namespace == AccountRegister.deleted
            || namespace == ContainerRegister.deleted
        {
            // Stored values keep fitting, and a name keeps leading to one account. One node is the
            // first to have deleted something.
            self = .first
        } else if namespace == AccountRegister.password {
            self = .greatest(of: AccountRegister.passwordOrderBytes)
        } else if SchemaRegister.isCount(namespace) || AccountRegister.isNumber(namespace)
            || namespace == RoleAssignment.namespace || namespace == Truncation.namespace
        {
            self = .greatest(of: .max)
        } else {
            self = .newest
        }
    }
}

extension RegisterRow {
    /// Whether this value replaces the current one.
    func replaces(_ current: RegisterRow, by rule: RegisterRule) -> Bool {
        let isNewer = stamp > current.stamp
        switch rule {
        case .newest: return isNewer
        case .first:
            return value != nil && current.value != nil ? stamp < current.stamp : isNewer
        case .greatest(let count):
            guard let new = value?.prefix(count), let old = current.value?.prefix(count) else {
                return (value == nil) == (current.value == nil) ? isNewer : value != nil
            }
            return new == old ? isNewer : old.lexicographicallyPrecedes(new)
        case .removed:
            return (value == nil) == (current.value == nil) ? isNewer : value == nil
        }
    }
}
