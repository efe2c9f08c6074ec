// The language server knows the dialect: an invalid operation is a diagnostic.

// RUN: hova-lsp-server -lit-test < %s | FileCheck %s

{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"processId":1,"rootPath":"mlir","capabilities":{},"trace":"off"}}
// -----
{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":"test:///a.mlir","languageId":"mlir","version":1,"text":"func.func @f(%x: tensor<2x3xf32>, %w: tensor<4x5xf32>) -> tensor<2x5xf32> {\n  %y = hova.linear %x, %w : tensor<2x3xf32>, tensor<4x5xf32> -> tensor<2x5xf32>\n  return %y : tensor<2x5xf32>\n}"}}}
// CHECK: "method": "textDocument/publishDiagnostics"
// CHECK: "message": "'hova.linear' op
// -----
{"jsonrpc":"2.0","id":1,"method":"shutdown"}
// -----
{"jsonrpc":"2.0","method":"exit"}
