// SPDX-License-Identifier: Apache-2.0
// The requests and responses of the engine, as in cmd/playground/protocol.go. Only fields that the page reads are listed.

export interface File {
  name: string;
  text: string;
}

export interface ObjectName {
  apiVersion: string;
  kind: string;
  namespace: string;
  name: string;
}

export interface Request {
  policies: string;
  objects?: File[]; // left out: the objects of the request before
  at: string;
  asWritten: boolean;
  allowKinds?: string[];
  explain?: ObjectName;
}

export interface Problem {
  file?: string;
  fileLine?: number;
  policy?: string;
  warning?: boolean;
  path?: string;
  line?: number;
  column?: number;
  message: string;
  hint?: string;
}

export interface Decision {
  action: "Keep" | "Wait" | "Delete";
  reason: string;
  policy?: string;
  rule?: string;
  startTime?: string;
  ttl?: string;
  dueTime?: string;
}

export interface Verdict extends Decision {
  apiVersion?: string;
  kind: string;
  namespace?: string;
  name: string;
  message?: string;
  image?: string;
  owner?: { kind: string; name: string };
  dependents?: number;
}

export interface Failure {
  policy?: string;
  rule?: string;
  namespace?: string;
  name?: string;
  message: string;
}

export interface Part {
  text: string;
  depth: number;
  value?: string;
  error?: string;
  skipped?: boolean;
}

export interface Expression {
  field: string;
  text: string;
  tag?: string;
  value?: string;
  error?: string;
  skipped?: boolean;
  parts?: Part[];
}

export interface Setting {
  name: string;
  value: string;
  from?: string;
  note?: string;
}

export interface Rank {
  group?: string;
  place?: number;
  of?: number;
  keep?: number;
  capacity?: { count: number; max: number; allNamespaces?: boolean };
}

export interface Vote {
  says: string;
  reason: string;
  dueTime?: string;
}

export interface Rule extends Vote {
  policy: string;
  rule: string;
  mode: string;
  problems?: string[];
  settings: Setting[];
  rank?: Rank;
  ifEnforced?: Vote & { retentionPolicies: string[]; settings: Setting[] };
  expressions: Expression[];
}

export interface Referrer {
  kind: string;
  namespace?: string;
  name: string;
}

export interface Page {
  object: ObjectName & { creationTimestamp?: string };
  verdict: Decision & { message: string };
  owner?: { message: string; propagationPolicy: string };
  references?: { count: number; by: Referrer[]; unknown?: string };
  targets?: { count: number; missing: Referrer[]; more?: number; unknown?: string };
  selected?: { count: number; unknown?: string };
  rules: Rule[];
  otherRules: { policy: string; rule: string; why: string; message: string }[];
  blocks: { reason: string; message: string; remedy?: string }[];
  changes: { what: string; at?: string; stays?: boolean }[];
}

export interface Response {
  error?: Problem;
  policies: number;
  digests?: number;
  objects: number;
  problems?: Problem[];
  notes?: string[];
  preview?: { verdicts: Verdict[]; errors: Failure[] };
  page?: Page;
}
