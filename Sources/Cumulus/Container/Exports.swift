// `import Cumulus` brings the vocabulary along: records, zones, values, errors.

@_exported public import CumulusModel
