#include "dialect/DenseOps.h"
#include "dialect/TileOps.h"
#include "passes/Passes.h"
#include <cmath>
using namespace mlir;
namespace hova {
#define GEN_PASS_DEF_LOWERACTIVATIONSPASS
#include "passes/Passes.h.inc"
namespace {
struct M {
  OpBuilder &b; Location l; VectorType t;
  Value c(double v){ return arith::ConstantOp::create(b,l,DenseElementsAttr::get(t,b.getF32FloatAttr(v))); }
  Value ci(int32_t v){ auto it=VectorType::get(t.getShape(),b.getI32Type()); return arith::ConstantOp::create(b,l,DenseElementsAttr::get(it,b.getI32IntegerAttr(v))); }
  Value fma(Value a,Value x,Value y){ return math::FmaOp::create(b,l,a,x,y);}
  Value add(Value a,Value x){ return arith::AddFOp::create(b,l,a,x);}
  Value sub(Value a,Value x){ return arith::SubFOp::create(b,l,a,x);}
  Value mul(Value a,Value x){ return arith::MulFOp::create(b,l,a,x);}
  Value div(Value a,Value x){ return arith::DivFOp::create(b,l,a,x);}
  Value maxp(Value a,Value x){ Value p=arith::CmpFOp::create(b,l,arith::CmpFPredicate::OGT,a,x); return arith::SelectOp::create(b,l,p,a,x);}
  Value minp(Value a,Value x){ Value p=arith::CmpFOp::create(b,l,arith::CmpFPredicate::OLT,a,x); return arith::SelectOp::create(b,l,p,a,x);}
  Value exp2(Value x){
    Value y=maxp(c(-126),x); Value z=add(y,c(12582912.0)); Value n=sub(z,c(12582912.0)); Value r=sub(y,n);
    double k[]={1.3333558e-3,9.6181291e-3,5.5504109e-2,2.4022651e-1,6.9314718e-1,1.0};
    Value p=c(k[0]); for(int i=1;i<6;i++) p=fma(p,r,c(k[i]));
    auto it=VectorType::get(t.getShape(),b.getI32Type());
    Value zi=arith::BitcastOp::create(b,l,it,z); Value pi=arith::BitcastOp::create(b,l,it,p);
    Value s=arith::ShLIOp::create(b,l,zi,ci(23)); Value e=arith::AddIOp::create(b,l,pi,s);
    return arith::BitcastOp::create(b,l,t,e);
  }
  Value sigmoid(Value x){ Value y=maxp(c(-87),minp(c(87),x)); return div(c(1),add(c(1),exp2(mul(y,c(-1.4426950408889634)))));}
  Value tanh(Value x){ return sub(mul(c(2),sigmoid(mul(c(2),x))),c(1)); }
};
struct LowerActivationsPass final : impl::LowerActivationsPassBase<LowerActivationsPass> {
  using Base::Base;
  void runOnOperation() override {
    SmallVector<Operation*> ops;
    getOperation().walk([&](Operation*op){ if(isa<ActivationOp,Exp2Op>(op)&&isa<VectorType>(op->getResult(0).getType())) ops.push_back(op);});
    for(Operation*op:ops){ OpBuilder b(op); M m{b,op->getLoc(),cast<VectorType>(op->getResult(0).getType())}; Value x=op->getOperand(0),r;
      if(auto a=dyn_cast<ActivationOp>(op)) switch(a.getKind()){
        case ActivationKind::relu: r=m.maxp(m.c(0),x); break;
        case ActivationKind::tanh: r=m.tanh(x); break;
        case ActivationKind::sigmoid: r=m.sigmoid(x); break;
        case ActivationKind::gelu_tanh: { Value u=m.mul(m.mul(x,x),x); r=m.mul(x,m.sigmoid(m.mul(m.c(2*std::sqrt(2/M_PI)),m.fma(m.c(0.044715),u,x)))); break; }
        case ActivationKind::gelu_erf: { // A&S 7.1.26-like via erf polynomial
          Value a1=math::AbsFOp::create(b,op->getLoc(),x); Value z=m.mul(a1,m.c(M_SQRT1_2)); Value tt=m.div(m.c(1),m.fma(m.c(0.3275911),z,m.c(1)));
          double k[]={1.061405429,-1.453152027,1.421413741,-0.284496736,0.254829592}; Value p=m.c(k[0]); for(int i=1;i<5;i++) p=m.fma(p,tt,m.c(k[i]));
          Value e=m.exp2(m.mul(m.mul(z,z),m.c(-1.4426950408889634))); Value q=m.mul(m.mul(m.mul(p,tt),e),m.c(0.5)); // 0.5*erfc
          r=m.sub(m.maxp(m.c(0),x),m.mul(a1,q)); break; }
      } else r=m.exp2(x);
      op->getResult(0).replaceAllUsesWith(r); op->erase(); }
  }
};
}}
